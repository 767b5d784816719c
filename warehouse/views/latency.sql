-- Grain: one run, trial, group, operation and how (booted or restored). Times in seconds are response times.
-- A percentile p is the nearest rank: the smallest value with at least p of the n values at or below it
-- (quantile_disc), over the attempts that worked or timed out. Where it falls on a time-out it is not known, only
-- that it is longer than what was waited for: then pXX_s is that time and pXX_censored is true ("> 15 s").
-- Withheld (NULL, with withheld_reason) below the n that it needs: 5 for the p50, 20 for the p95, 100 for the p99.
-- p50_low_s and p50_high_s are order statistics around the median that hold the true one with 95% confidence
-- (ranks (n ± 1.96 √n) / 2, the normal approximation of the binomial; David and Nagaraja, Order Statistics, 7.1).
CREATE OR REPLACE VIEW latency AS
WITH counted AS (
    SELECT
        run_id, trial, group_name, operation, how,
        count(*) AS attempts,
        count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (outcome = 'timed_out') AS timed_out
    FROM attempt_times
    WHERE outcome IN ('ok', 'timed_out')
    GROUP BY ALL
),
ranked AS (
    SELECT
        run_id, trial, group_name, operation, how,
        count(*) AS n,
        min(bound_s) FILTER (outcome = 'ok') AS min_s,
        quantile_disc(rank_s, 0.5) AS p50, quantile_disc(rank_s, 0.95) AS p95, quantile_disc(rank_s, 0.99) AS p99,
        max(bound_s) AS max_s,
        bool_or(outcome = 'timed_out') AS max_censored,
        min(bound_s) FILTER (outcome = 'timed_out') AS waited_s,
        list_sort(list(rank_s)) AS ordered
    FROM latencies
    GROUP BY ALL
),
placed AS (
    SELECT
        *,
        ordered[greatest(1, floor((n - 1.96 * sqrt(n)) / 2)::BIGINT)] AS low,
        ordered[least(n, ceil(1 + (n + 1.96 * sqrt(n)) / 2)::BIGINT)] AS high
    FROM ranked
)
SELECT
    p.run_id, p.trial, p.group_name, p.operation, p.how,
    p.n, c.ok, c.timed_out,
    p.min_s,
    CASE WHEN p.n >= 5 THEN CASE WHEN isinf(p.p50) THEN p.waited_s ELSE p.p50 END END AS p50_s,
    p.n >= 5 AND isinf(p.p50) AS p50_censored,
    CASE WHEN p.n >= 6 AND NOT isinf(p.low) THEN p.low END AS p50_low_s,
    CASE WHEN p.n >= 6 AND NOT isinf(p.high) THEN p.high END AS p50_high_s,
    CASE WHEN p.n >= 20 THEN CASE WHEN isinf(p.p95) THEN p.waited_s ELSE p.p95 END END AS p95_s,
    p.n >= 20 AND isinf(p.p95) AS p95_censored,
    CASE WHEN p.n >= 100 THEN CASE WHEN isinf(p.p99) THEN p.waited_s ELSE p.p99 END END AS p99_s,
    p.n >= 100 AND isinf(p.p99) AS p99_censored,
    p.max_s,
    p.max_censored,
    CASE
        WHEN p.n < 5 THEN 'n = ' || p.n || ': p50 needs 5, p95 20, p99 100'
        WHEN p.n < 20 THEN 'n = ' || p.n || ': p95 needs 20, p99 100'
        WHEN p.n < 100 THEN 'n = ' || p.n || ': p99 needs 100'
    END AS withheld_reason
FROM placed AS p
JOIN counted AS c
    ON c.run_id = p.run_id AND c.trial = p.trial AND c.group_name = p.group_name AND c.operation = p.operation
    AND c.how IS NOT DISTINCT FROM p.how;
COMMENT ON VIEW latency IS 'Percentiles of response times in seconds, nearest rank, time-outs censored, boots apart from restores. Grain: run_id, trial, group_name, operation, how.';
