-- A percentile over the pooled rows that a check matches; the values to bind: run, operation, percentile, least n.
-- `figure` is NULL where it falls on a time-out (it is above every bound below `waited_s`), or where n is too small.
SELECT
    count(*) AS n,
    CASE WHEN count(*) >= $least THEN quantile_disc(rank_s, $percentile) END AS figure,
    min(bound_s) FILTER (outcome = 'timed_out') AS waited_s
FROM latencies
WHERE run_id = $run_id AND operation = $operation
    AND ($group_name IS NULL OR group_name = $group_name)
    AND ($how IS NULL OR how = $how)
    AND list_contains($trials, trial)
