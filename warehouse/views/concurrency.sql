-- Grain: one run, sandbox size, limit of attempts in flight, operation, program (of an exec) and how. Trials and rounds
-- with the same limit are merged by rows. Times in seconds; percentiles as `percentile.sql` says. Loads without a limit
-- (open loop) are not here.
CREATE OR REPLACE VIEW concurrency AS
WITH ranked AS (
    SELECT
        run_id, group_name, cpu_millicores, memory_bytes, in_flight_limit, operation, program, how,
        count(*) AS n,
        count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (outcome = 'timed_out') AS timed_out,
        quantile_disc(rank_s, 0.5) AS p50, quantile_disc(rank_s, 0.95) AS p95,
        min(response_s) AS min_s, max(bound_s) AS max_s,
        min(censored_s) AS waited_s
    FROM latencies
    WHERE in_flight_limit IS NOT NULL
    GROUP BY ALL
)
SELECT
    run_id, group_name, cpu_millicores, memory_bytes, in_flight_limit, operation, program, how, n, ok, timed_out, min_s,
    percentile_s(p50, waited_s, n, ok, 5) AS p50_s,
    percentile_censored(p50, n, ok, 5) AS p50_censored,
    percentile_s(p95, waited_s, n, ok, 20) AS p95_s,
    percentile_censored(p95, n, ok, 20) AS p95_censored,
    max_s,
    timed_out > 0 AS max_censored,
    withheld_reason(n, ok) AS withheld_reason
FROM ranked;
COMMENT ON VIEW concurrency IS 'Response times in seconds by attempts in flight, boots apart from restores. Grain: run_id, group_name, sandbox size, in_flight_limit, operation, program, how.';
