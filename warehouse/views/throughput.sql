-- Grain: one run, trial, step and operation. Attempts that worked, per second from the first start to the last end.
CREATE OR REPLACE VIEW throughput AS
SELECT
    run_id, trial, step, operation,
    count(*) FILTER (outcome = 'ok') AS ok,
    max(ended_s) - min(started_s) AS seconds,
    count(*) FILTER (outcome = 'ok') / nullif(max(ended_s) - min(started_s), 0) AS ok_per_s
FROM attempts
WHERE started_s IS NOT NULL
GROUP BY ALL;
COMMENT ON VIEW throughput IS 'Attempts that worked per second. Grain: run_id, trial, step, operation.';
