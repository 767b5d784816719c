-- Grain: one run, trial, group, operation, program (of an exec) and how (booted or restored). Times in seconds are
-- response times; n counts attempts that worked or timed out. Percentiles, and the 95% interval of the p50 from
-- p50_low_s to p50_high_s, as `percentile.sql` says; withheld_reason where a percentile is missing.
CREATE OR REPLACE VIEW latency AS
WITH ranked AS (
    SELECT
        run_id, trial, group_name, operation, program, how,
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
)
SELECT
    run_id, trial, group_name, operation, program, how, n, ok, timed_out, min_s,
    percentile_s(p50, waited_s, n, ok, 5) AS p50_s,
    percentile_censored(p50, n, ok, 5) AS p50_censored,
    median_low(ordered, n) AS p50_low_s,
    median_high(ordered, n) AS p50_high_s,
    percentile_s(p95, waited_s, n, ok, 20) AS p95_s,
    percentile_censored(p95, n, ok, 20) AS p95_censored,
    percentile_s(p99, waited_s, n, ok, 100) AS p99_s,
    percentile_censored(p99, n, ok, 100) AS p99_censored,
    max_s,
    timed_out > 0 AS max_censored,
    withheld_reason(n, ok) AS withheld_reason
FROM ranked;
COMMENT ON VIEW latency IS 'Percentiles of response times in seconds, nearest rank, time-outs censored, boots apart from restores. Grain: run_id, trial, group_name, operation, program, how.';
