-- Grain: one run, trial, group and operation. How many attempts ended how.
CREATE OR REPLACE VIEW outcomes AS
SELECT
    run_id, trial, group_name, operation,
    count(*) AS attempts,
    count(*) FILTER (outcome = 'ok') AS ok,
    count(*) FILTER (outcome = 'refused') AS refused,
    count(*) FILTER (outcome IN ('failed', 'unsupported', 'unknown')) AS failed,
    count(*) FILTER (outcome = 'timed_out') AS timed_out,
    count(*) FILTER (outcome = 'cancelled') AS cancelled,
    count(*) FILTER (outcome = 'skipped') AS skipped
FROM attempts
GROUP BY ALL;
COMMENT ON VIEW outcomes IS 'Attempts by what came of them. Grain: run_id, trial, group_name, operation.';
