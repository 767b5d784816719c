-- Grain: one run and trial that has rows in `density`.
--   running             most sandboxes that ran at once
--   refused             attempts that were refused beyond that; 0 means that the ceiling was not reached
--   bytes_per_sandbox   memory on the node for each further running sandbox: the slope of a least-squares line through
--                       the batches, NULL with fewer than three batches that have a sample
CREATE OR REPLACE VIEW density_ceiling AS
SELECT
    run_id, trial, group_name, cpu_millicores, memory_bytes,
    max(running) AS running,
    sum(refused)::BIGINT AS refused,
    min(resource) AS resource,
    CASE WHEN count(node_memory_bytes) >= 3 AND count(DISTINCT running) >= 3
        THEN regr_slope(node_memory_bytes, running) END AS bytes_per_sandbox,
    CASE WHEN count(node_memory_bytes) < 3 OR count(DISTINCT running) < 3
        THEN 'needs samples after at least three batches' END AS bytes_reason
FROM density
GROUP BY ALL;
COMMENT ON VIEW density_ceiling IS 'How many sandboxes ran at most, what refused more, and memory in bytes for each. Grain: run_id, trial.';
