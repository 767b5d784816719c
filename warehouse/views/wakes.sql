-- Grain: one wake. What `attempt_times` has, with what came back:
--   status, way, parked_s       the answer's HTTP status, how the request reached the program, and for how many seconds
--                               it was held for want of room; NULL where nobody said
--   count, boot                 what the program counts and knows in its memory: answers since its boot, and which boot
--                               it was; NULL where the answer does not tell
--   previous_count, previous_boot   the same of the sandbox's last answer before, since it was created; NULL for a
--                    first
--   others                      requests that may have reached the program between the two without an answer here:
--                               wakes that did not work, and programs that were run beside it (mark and verify ask it
--                               as well)
--   state                       kept: the same boot, and the count went on by 1 (or up to `others` more);
--                               lost: another boot, or a count that did not go on like that;
--                               unknown: no answer that tells, or none before it to compare with
CREATE OR REPLACE VIEW wakes AS
WITH told AS (
    SELECT
        *,
        try_cast(detail ->> 'status' AS BIGINT) AS status,
        detail ->> 'way' AS way,
        try_cast(detail ->> 'parked_s' AS DOUBLE) AS parked_s,
        try_cast(detail ->> 'answer' AS JSON) AS answer
    FROM attempt_times
    WHERE operation IN ('create', 'wake', 'exec') AND run_id IN (SELECT run_id FROM attempts WHERE operation = 'wake')
),
parsed AS (
    SELECT
        * EXCLUDE (answer),
        CASE WHEN operation = 'wake' AND outcome = 'ok' THEN try_cast(answer ->> 'count' AS BIGINT) END AS count,
        CASE WHEN operation = 'wake' AND outcome = 'ok' THEN answer ->> 'boot' END AS boot,
        count(*) FILTER (operation = 'create' AND outcome = 'ok')
            OVER (PARTITION BY run_id, trial, sandbox ORDER BY attempt) AS life
    FROM told
),
counted AS (
    SELECT
        *,
        boot IS NOT NULL AND count IS NOT NULL AS tells,
        count(*) FILTER (operation <> 'create' AND started_s IS NOT NULL AND (boot IS NULL OR count IS NULL))
            OVER (PARTITION BY run_id, trial, sandbox, life ORDER BY attempt) AS silent
    FROM parsed
),
compared AS (
    SELECT
        *,
        last_value(CASE WHEN tells THEN count END IGNORE NULLS) OVER before AS previous_count,
        last_value(CASE WHEN tells THEN boot END IGNORE NULLS) OVER before AS previous_boot,
        silent - coalesce(last_value(CASE WHEN tells THEN silent END IGNORE NULLS) OVER before, 0) AS others
    FROM counted
    WINDOW before AS (
        PARTITION BY run_id, trial, sandbox, life ORDER BY attempt ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT
    run_id, trial, step, attempt, round, batch, group_name, sandbox, scenario, target, matrix, repetition,
    cpu_millicores, memory_bytes, pacing, in_flight_limit, outcome, how, resource, error,
    intended_s, response_s, service_s, censored_s,
    status, way, parked_s, count, boot, previous_count, previous_boot, others,
    CASE
        WHEN NOT tells OR previous_boot IS NULL THEN 'unknown'
        WHEN boot = previous_boot AND count - previous_count BETWEEN 1 AND 1 + others THEN 'kept'
        ELSE 'lost'
    END AS state
FROM compared
WHERE operation = 'wake';
COMMENT ON VIEW wakes IS 'Wakes with times in seconds, what came back, and whether the sandbox kept its memory. Grain: run_id, attempt.';
