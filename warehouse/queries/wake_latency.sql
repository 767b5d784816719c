-- Wakes by matrix values and the way in which the sandbox came back; trials that repeat the same values are merged by
-- rows. Response times in seconds, percentiles as `percentile.sql` says.
WITH ranked AS (
    SELECT
        matrix, how, cpu_millicores, memory_bytes, in_flight_limit,
        min(trial) AS trial,
        count(*) FILTER (outcome NOT IN ('skipped', 'cancelled')) AS attempts,
        count(*) FILTER (outcome IN ('ok', 'timed_out')) AS n,
        count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (outcome = 'refused') AS refused,
        count(*) FILTER (outcome = 'timed_out') AS timed_out,
        count(*) FILTER (outcome IN ('failed', 'unknown', 'unsupported')) AS failed,
        count(*) FILTER (state = 'kept') AS kept,
        count(*) FILTER (state = 'lost') AS lost,
        count(*) FILTER (state = 'unknown' AND outcome = 'ok') AS untold,
        max(parked_s) AS parked_s,
        min(censored_s) AS waited_s,
        list_sort(list(CASE outcome WHEN 'ok' THEN response_s WHEN 'timed_out' THEN 'infinity' END)
            FILTER (outcome = 'timed_out' OR (outcome = 'ok' AND response_s IS NOT NULL))) AS ordered
    FROM wakes
    WHERE run_id = $run_id
    GROUP BY ALL
)
SELECT
    * EXCLUDE (ordered),
    percentile_s(ordered[ceil(n * 0.5)::BIGINT], waited_s, n, ok, 5) AS p50_s,
    percentile_censored(ordered[ceil(n * 0.5)::BIGINT], n, ok, 5) AS p50_censored,
    median_low(ordered, n) AS p50_low_s,
    median_high(ordered, n) AS p50_high_s,
    percentile_s(ordered[ceil(n * 0.95)::BIGINT], waited_s, n, ok, 20) AS p95_s,
    percentile_censored(ordered[ceil(n * 0.95)::BIGINT], n, ok, 20) AS p95_censored,
    withheld_reason(n, ok) AS withheld_reason
FROM ranked
ORDER BY trial, how
