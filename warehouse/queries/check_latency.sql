-- A percentile over the pooled rows that a check matches; `rank_s` is infinite where it falls on a time-out.
SELECT
    count(*) AS n,
    count(*) FILTER (outcome = 'ok') AS ok,
    quantile_disc(rank_s, $percentile) AS rank_s,
    min(censored_s) AS waited_s
FROM latencies
WHERE run_id = $run_id AND operation = $operation
    AND ($group_name IS NULL OR group_name = $group_name)
    AND ($how IS NULL OR how = $how)
    AND list_contains($trials, trial)
