-- A percentile by programs' own clocks over the pooled rows that a figure is asked of, with the interval of the median;
-- of one that timed out nobody knows it, so that it ranks as infinite.
WITH ranked AS (
    SELECT inside_s, CASE outcome WHEN 'ok' THEN inside_s WHEN 'timed_out' THEN 'infinity'::DOUBLE END AS rank_s
    FROM attempt_times
    WHERE run_id = $run_id AND operation = 'exec'
        AND ($group_name IS NULL OR group_name = $group_name)
        AND ($program IS NULL OR program = $program)
        AND list_contains($trials, trial)
)
SELECT
    count(rank_s) AS n,
    count(inside_s) AS ok,
    quantile_disc(rank_s, $percentile) AS rank_s,
    NULL AS waited_s,
    median_low(list_sort(list(rank_s)), count(*)) AS low_s,
    median_high(list_sort(list(rank_s)), count(*)) AS high_s
FROM ranked
WHERE rank_s IS NOT NULL
