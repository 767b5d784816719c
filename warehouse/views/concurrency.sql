-- Grain: one run, limit of attempts in flight, operation and how. Trials and rounds with the same limit are merged by
-- rows. Percentiles as in `latency`: nearest rank, time-outs censored, withheld below the n that they need.
CREATE OR REPLACE VIEW concurrency AS
WITH ranked AS (
    SELECT
        run_id, in_flight_limit, operation, how,
        count(*) AS n,
        count(*) FILTER (outcome = 'timed_out') AS timed_out,
        quantile_disc(rank_s, 0.5) AS p50, quantile_disc(rank_s, 0.95) AS p95,
        min(bound_s) AS min_s, max(bound_s) AS max_s,
        min(bound_s) FILTER (outcome = 'timed_out') AS waited_s
    FROM latencies
    WHERE in_flight_limit IS NOT NULL
    GROUP BY ALL
)
SELECT
    run_id, in_flight_limit, operation, how, n, timed_out, min_s, max_s,
    CASE WHEN n >= 5 THEN CASE WHEN isinf(p50) THEN waited_s ELSE p50 END END AS p50_s,
    n >= 5 AND isinf(p50) AS p50_censored,
    CASE WHEN n >= 20 THEN CASE WHEN isinf(p95) THEN waited_s ELSE p95 END END AS p95_s,
    n >= 20 AND isinf(p95) AS p95_censored,
    CASE WHEN n < 5 THEN 'n = ' || n || ': p50 needs 5, p95 20' WHEN n < 20 THEN 'n = ' || n || ': p95 needs 20' END
        AS withheld_reason
FROM ranked;
COMMENT ON VIEW concurrency IS 'Response times in seconds by attempts in flight, boots apart from restores. Grain: run_id, in_flight_limit, operation, how.';
