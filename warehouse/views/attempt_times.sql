-- Grain: one attempt. What `attempts` has, with the times that follow from its clocks, in seconds:
--   response_s     from the intended start until ready: what a user waits, the generator's own delay included
--   service_s      from the actual start until ready
--   acknowledge_s  from the actual start until the system had accepted it
--   lateness_s     from the intended to the actual start: what the generator itself delayed
--   censored_s     of a time-out: how long it had been waited for; the true time is longer
-- and with the run, the matrix values and the size of the sandbox beside it.
-- An attempt that did not work cannot say whether it would have booted or restored. Where the platform tells it of
-- those that worked, `how` is worked out here (restored when the sandbox had been suspended before, else booted), so
-- that a time-out stays in the distribution to which it belongs.
CREATE OR REPLACE VIEW attempt_times AS
WITH untold AS (
    SELECT run_id, trial, sandbox, attempt
    FROM attempts
    WHERE operation IN ('resume', 'wake') AND how IS NULL AND outcome <> 'ok'
        AND run_id IN (SELECT run_id FROM attempts WHERE how IS NOT NULL)
),
worked_out AS (
    SELECT u.run_id, u.attempt, CASE WHEN count(s.attempt) > 0 THEN 'restored' ELSE 'booted' END AS how
    FROM untold AS u
    LEFT JOIN attempts AS s
        ON s.run_id = u.run_id AND s.trial = u.trial AND s.sandbox = u.sandbox
        AND s.operation = 'suspend' AND s.outcome = 'ok' AND s.attempt < u.attempt
    GROUP BY ALL
)
SELECT
    a.* REPLACE (coalesce(a.how, w.how) AS how),
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
LEFT JOIN worked_out AS w ON w.run_id = a.run_id AND w.attempt = a.attempt
LEFT JOIN trials AS t ON t.run_id = a.run_id AND t.trial = a.trial
LEFT JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
LEFT JOIN steps AS s ON s.run_id = a.run_id AND s.trial = a.trial AND s.step = a.step;
COMMENT ON VIEW attempt_times IS 'Attempts with response, service, acknowledge and lateness times in seconds. Grain: run_id, attempt.';
