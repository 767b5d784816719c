-- Grain: one run and trial that has rows in `density`.
--   running             most sandboxes that ran at once
--   refused             attempts that were refused beyond that; 0 means that the ceiling was not reached
--   bytes_per_sandbox   memory on the node for each further running sandbox: the slope of a least-squares line through
--                       the batches. NULL, with bytes_reason, with samples after fewer than three batches, or where
--                       the line explains less than 0.9 of the variance (bytes_r2): then other things on the node moved
--                       its memory as well
--   bytes_low, bytes_high   95% interval of that slope b: b ± t(0.975, n - 2) √((Syy - b Sxy) / (n - 2) / Sxx), with n
--                       batches, x running sandboxes and y bytes (Draper and Smith, Applied Regression Analysis, 1.4).
--                       It takes the batches' deviations from the line as independent; a slow drift makes it too narrow
CREATE OR REPLACE VIEW density_ceiling AS
WITH fitted AS (
    SELECT
        run_id, trial, group_name, cpu_millicores, memory_bytes,
        max(running) AS running,
        sum(refused)::BIGINT AS refused,
        min(resource) AS resource,
        count(DISTINCT running) FILTER (node_memory_bytes IS NOT NULL) AS sampled,
        regr_count(node_memory_bytes, running) AS n,
        regr_slope(node_memory_bytes, running) AS slope,
        regr_sxx(node_memory_bytes, running) AS sxx,
        regr_syy(node_memory_bytes, running) AS syy,
        regr_sxy(node_memory_bytes, running) AS sxy,
        regr_r2(node_memory_bytes, running) AS bytes_r2
    FROM density
    GROUP BY ALL
),
spread AS (
    SELECT
        *,
        CASE WHEN n >= 3 AND sxx > 0
            THEN student_t_975(n - 2) * sqrt(greatest(0, syy - slope * sxy) / (n - 2) / sxx) END AS reach
    FROM fitted
)
SELECT
    run_id, trial, group_name, cpu_millicores, memory_bytes, running, refused, resource,
    CASE WHEN sampled >= 3 AND bytes_r2 >= 0.9 THEN slope END AS bytes_per_sandbox,
    CASE WHEN sampled >= 3 AND bytes_r2 >= 0.9 THEN slope - reach END AS bytes_low,
    CASE WHEN sampled >= 3 AND bytes_r2 >= 0.9 THEN slope + reach END AS bytes_high,
    CASE WHEN sampled >= 3 THEN bytes_r2 END AS bytes_r2,
    CASE
        WHEN sampled < 3 THEN 'needs samples after at least three batches'
        WHEN bytes_r2 >= 0.9 THEN NULL
        ELSE 'other things on the node moved its memory too (r² = ' || coalesce(round(bytes_r2, 2)::VARCHAR, '?') || ')'
    END AS bytes_reason
FROM spread;
COMMENT ON VIEW density_ceiling IS 'How many sandboxes ran at most, what refused more, and memory in bytes for each. Grain: run_id, trial.';
