-- Grain: one run, trial, step and operation: how fast a control plane takes calls. Times in seconds.
--   seconds, ok_per_s          the whole phase: from the first start to the last end in each batch, added up
--   steady_per_s               the part in which the generator kept the loop full: calls that ended and worked from the
--                              first start until the last start of each batch, per second of it; the tail, in which
--                              ever fewer are in flight, is left out. NULL, with steady_reason, where a batch has not
--                              more than twice as many attempts as may be in flight, so that there is no such part
--   p50_s, p95_s, p99_s        of response times, as `percentile.sql` says; boots and restores of a phase are together,
--                              and `booted` and `restored` say how many there were of each
CREATE OR REPLACE VIEW phases AS
WITH bounded AS (
    SELECT
        a.*,
        s.in_flight AS in_flight_limit,
        max(a.started_s) OVER (PARTITION BY a.run_id, a.trial, a.step, a.operation, a.batch) AS last_start_s
    FROM attempts AS a
    LEFT JOIN steps AS s ON s.run_id = a.run_id AND s.trial = a.trial AND s.step = a.step
    WHERE a.started_s IS NOT NULL
),
batches AS (
    SELECT
        run_id, trial, step, operation, batch, in_flight_limit,
        count(*) AS n,
        count(*) FILTER (outcome = 'ok' AND ended_s <= last_start_s) AS steady_ok,
        max(started_s) - min(started_s) AS steady_seconds
    FROM bounded
    GROUP BY ALL
),
steady AS (
    SELECT
        run_id, trial, step, operation, max(in_flight_limit) AS in_flight_limit,
        coalesce(min(n) > 2 * max(in_flight_limit), false) AS is_long,
        sum(steady_ok) / nullif(sum(steady_seconds), 0) AS per_s
    FROM batches
    GROUP BY ALL
),
ranked AS (
    SELECT
        run_id, trial, step, operation,
        count(*) AS n,
        count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (how = 'booted') AS booted,
        count(*) FILTER (how = 'restored') AS restored,
        quantile_disc(rank_s, 0.5) AS p50, quantile_disc(rank_s, 0.95) AS p95, quantile_disc(rank_s, 0.99) AS p99,
        min(censored_s) AS waited_s
    FROM latencies
    GROUP BY ALL
)
SELECT
    t.run_id, t.trial, t.step, t.operation, s.in_flight_limit, t.ok, t.seconds, t.ok_per_s,
    CASE WHEN s.is_long THEN s.per_s END AS steady_per_s,
    CASE
        WHEN s.in_flight_limit IS NULL THEN 'arrivals did not wait for calls in flight'
        WHEN NOT s.is_long THEN 'needs more than twice as many attempts as were in flight'
    END AS steady_reason,
    coalesce(r.n, 0) AS n, coalesce(r.booted, 0) AS booted, coalesce(r.restored, 0) AS restored,
    percentile_s(r.p50, r.waited_s, r.n, r.ok, 5) AS p50_s,
    percentile_censored(r.p50, r.n, r.ok, 5) AS p50_censored,
    percentile_s(r.p95, r.waited_s, r.n, r.ok, 20) AS p95_s,
    percentile_censored(r.p95, r.n, r.ok, 20) AS p95_censored,
    percentile_s(r.p99, r.waited_s, r.n, r.ok, 100) AS p99_s,
    percentile_censored(r.p99, r.n, r.ok, 100) AS p99_censored,
    CASE WHEN r.n IS NULL THEN 'none worked or timed out' ELSE withheld_reason(r.n, r.ok) END AS withheld_reason
FROM throughput AS t
JOIN steady AS s ON s.run_id = t.run_id AND s.trial = t.trial AND s.step = t.step AND s.operation = t.operation
LEFT JOIN ranked AS r ON r.run_id = t.run_id AND r.trial = t.trial AND r.step = t.step AND r.operation = t.operation;
COMMENT ON VIEW phases IS 'Attempts that worked per second, whole and steady, with percentiles in seconds. Grain: run_id, trial, step, operation.';
