-- Grain: one attempt. What `attempts` has, with the times that follow from its clocks, in seconds:
--   response_s     from the intended start until ready: what a user waits, the generator's own delay included
--   service_s      from the actual start until ready
--   acknowledge_s  from the actual start until the system had accepted it
--   lateness_s     from the intended to the actual start: what the generator itself delayed
--   censored_s     of a time-out: how long it had been waited for; the true time is longer
-- and with the run, the matrix values and the size of the sandbox beside it.
CREATE OR REPLACE VIEW attempt_times AS
SELECT
    a.*,
    a.ready_s - a.intended_s AS response_s,
    a.ready_s - a.started_s AS service_s,
    a.acknowledged_s - a.started_s AS acknowledge_s,
    a.started_s - a.intended_s AS lateness_s,
    CASE WHEN a.outcome = 'timed_out' THEN a.ended_s - a.intended_s END AS censored_s,
    r.scenario,
    r.target,
    r.platform,
    r.simulated,
    t.matrix,
    t.repetition,
    g.cpu_millicores,
    g.memory_bytes,
    s.pacing,
    s.in_flight AS in_flight_limit
FROM attempts AS a
JOIN runs AS r ON r.run_id = a.run_id
LEFT JOIN trials AS t ON t.run_id = a.run_id AND t.trial = a.trial
LEFT JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
LEFT JOIN steps AS s ON s.run_id = a.run_id AND s.trial = a.trial AND s.step = a.step;
COMMENT ON VIEW attempt_times IS 'Attempts with response, service, acknowledge and lateness times in seconds. Grain: run_id, attempt.';
