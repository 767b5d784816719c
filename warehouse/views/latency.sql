-- Grain: one run, trial, group, operation and how (booted or restored). Times in seconds are response times; n counts
-- attempts that worked or timed out. Percentiles as `percentile.sql` says, withheld_reason where one is missing.
-- p50_low_s and p50_high_s are order statistics around the median that hold the true one with 95% confidence
-- (ranks (n ± 1.96 √n) / 2, rounded: the normal approximation of the binomial; David and Nagaraja, Order Statistics,
-- 7.1). They need n = 6; an end that falls on a time-out is NULL.
CREATE OR REPLACE VIEW latency AS
WITH ranked AS (
    SELECT
        run_id, trial, group_name, operation, how,
        count(*) AS n,
        count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (outcome = 'timed_out') AS timed_out,
        min(response_s) AS min_s,
        quantile_disc(rank_s, 0.5) AS p50, quantile_disc(rank_s, 0.95) AS p95, quantile_disc(rank_s, 0.99) AS p99,
        max(bound_s) AS max_s,
        min(censored_s) AS waited_s,
        list_sort(list(rank_s)) AS ordered
    FROM latencies
    GROUP BY ALL
),
placed AS (
    SELECT
        * EXCLUDE (ordered, low_rank),
        ordered[low_rank] AS low,
        ordered[n + 1 - low_rank] AS high
    FROM (SELECT *, greatest(1, floor((n + 1 - 1.96 * sqrt(n)) / 2))::BIGINT AS low_rank FROM ranked)
)
SELECT
    run_id, trial, group_name, operation, how, n, ok, timed_out, min_s,
    percentile_s(p50, waited_s, n, ok, 5) AS p50_s,
    percentile_censored(p50, n, ok, 5) AS p50_censored,
    CASE WHEN n >= 6 AND NOT isinf(low) THEN low END AS p50_low_s,
    CASE WHEN n >= 6 AND NOT isinf(high) THEN high END AS p50_high_s,
    percentile_s(p95, waited_s, n, ok, 20) AS p95_s,
    percentile_censored(p95, n, ok, 20) AS p95_censored,
    percentile_s(p99, waited_s, n, ok, 100) AS p99_s,
    percentile_censored(p99, n, ok, 100) AS p99_censored,
    max_s,
    timed_out > 0 AS max_censored,
    withheld_reason(n, ok) AS withheld_reason
FROM placed;
COMMENT ON VIEW latency IS 'Percentiles of response times in seconds, nearest rank, time-outs censored, boots apart from restores. Grain: run_id, trial, group_name, operation, how.';
