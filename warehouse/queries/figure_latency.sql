-- A percentile over the pooled rows that a figure is asked of, with the interval of the median (`percentile.sql`);
-- `rank_s` is infinite where it falls on a time-out.
SELECT
    count(*) AS n,
    count(*) FILTER (outcome = 'ok') AS ok,
    quantile_disc(rank_s, $percentile) AS rank_s,
    min(censored_s) AS waited_s,
    median_low(list_sort(list(rank_s)), count(*)) AS low_s,
    median_high(list_sort(list(rank_s)), count(*)) AS high_s
FROM latencies
WHERE run_id = $run_id AND operation = $operation
    AND ($group_name IS NULL OR group_name = $group_name)
    AND ($how IS NULL OR how = $how)
    AND ($program IS NULL OR program = $program)
    AND list_contains($trials, trial)
