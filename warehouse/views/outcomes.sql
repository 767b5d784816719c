-- Grain: one run, trial, group, operation, program (of an exec) and how (as `attempt_times` has it). How many attempts
-- ended how. Failed counts those of unknown outcome and unsupported ones as well; skipped ones were never made.
CREATE OR REPLACE VIEW outcomes AS
SELECT
    run_id, trial, group_name, operation, program, how,
    count(*) AS attempts,
    count(*) FILTER (outcome = 'ok') AS ok,
    count(*) FILTER (outcome = 'refused') AS refused,
    count(*) FILTER (outcome IN ('failed', 'unsupported', 'unknown')) AS failed,
    count(*) FILTER (outcome = 'timed_out') AS timed_out,
    count(*) FILTER (outcome = 'cancelled') AS cancelled,
    count(*) FILTER (outcome = 'skipped') AS skipped
FROM attempt_times
GROUP BY ALL;
COMMENT ON VIEW outcomes IS 'Attempts by what came of them. Grain: run_id, trial, group_name, operation, program, how.';
