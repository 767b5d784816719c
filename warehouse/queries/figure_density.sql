-- The ceilings of the trials that a figure is asked of: the least of what ran at once, and the most memory that a
-- further sandbox cost, with its interval.
SELECT
    count(*) AS n,
    min(running) AS running,
    count(bytes_per_sandbox) AS fitted,
    max(bytes_per_sandbox) AS memory_per_sandbox,
    arg_max(bytes_low, bytes_per_sandbox) AS bytes_low,
    arg_max(bytes_high, bytes_per_sandbox) AS bytes_high,
    min(bytes_reason) AS bytes_reason
FROM density_ceiling
WHERE run_id = $run_id AND list_contains($trials, trial)
    AND ($group_name IS NULL OR group_name = $group_name)
