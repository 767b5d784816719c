-- Grain: one run, trial's matrix values with neighbours, group, operation, program, how and clock: what neighbours
-- cost, against the trial without any. Times in seconds; trials that repeat the same matrix values are merged by rows.
--   matrix_key, matrix_value, base_value   the one matrix key whose value differs, and its values with and without
--   neighbours        the background groups that were resumed before; only what was started after the last of them was
--                     ready counts
--   clock             inside: by the program's own clock; outside: from the call until it was ready (service time)
--   p50_s, base_p50_s, ratio   medians (nearest rank, time-outs as infinite) beside neighbours and alone, and the one
--                     through the other; NULL, with reason, where one is missing
--   ratio_low, ratio_high      low end of the one median's 95% interval (`percentile.sql`) over the high end of the
--                     other's, and the reverse: both intervals hold at once, and with them the true ratio, at least 90
--                     times in 100 whatever the distributions, and about 99 in 100 where both spread alike
--   p95_s, base_p95_s, p95_ratio   the same of the p95, which needs 20 on both sides; no interval
CREATE OR REPLACE VIEW slowdown AS
WITH beside AS (
    SELECT
        a.run_id, a.trial,
        coalesce(max(a.ready_s) FILTER (a.outcome = 'ok'), 'infinity') AS since_s,
        list_sort(list(DISTINCT a.group_name)) AS neighbours
    FROM attempts AS a
    JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
    WHERE g.background AND a.operation IN ('resume', 'wake')
    GROUP BY ALL
),
timed AS (
    SELECT
        a.run_id, a.matrix::VARCHAR AS matrix, b.neighbours, a.group_name, a.operation, a.program, a.how,
        unnest(['inside', 'outside']) AS clock,
        unnest([
            CASE WHEN a.operation = 'exec' THEN CASE a.outcome WHEN 'ok' THEN a.inside_s ELSE 'infinity' END END,
            CASE a.outcome WHEN 'ok' THEN a.service_s ELSE 'infinity' END
        ]) AS rank_s
    FROM attempt_times AS a
    JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
    LEFT JOIN beside AS b ON b.run_id = a.run_id AND b.trial = a.trial
    WHERE a.run_id IN (SELECT run_id FROM beside)
        AND g.background IS DISTINCT FROM true
        AND a.operation IN ('exec', 'suspend', 'resume', 'wake') AND a.outcome IN ('ok', 'timed_out')
        AND (b.since_s IS NULL OR a.started_s >= b.since_s)
),
ranked AS (
    SELECT
        run_id, matrix, neighbours, group_name, operation, program, how, clock,
        count(*) AS n,
        quantile_disc(rank_s, 0.5) AS p50, quantile_disc(rank_s, 0.95) AS p95,
        list_sort(list(rank_s)) AS ordered
    FROM timed
    WHERE rank_s IS NOT NULL
    GROUP BY ALL
    HAVING count(*) FILTER (NOT isinf(rank_s)) > 0
),
placed AS (
    SELECT
        * EXCLUDE (p50, p95, ordered),
        CASE WHEN n >= 5 AND NOT isinf(p50) THEN p50 END AS p50_s,
        CASE WHEN n >= 20 AND NOT isinf(p95) THEN p95 END AS p95_s,
        median_low(ordered, n) AS low_s,
        median_high(ordered, n) AS high_s,
        CASE WHEN n < 5 THEN 'n = ' || n || ', and a p50 needs 5' WHEN isinf(p50) THEN 'its p50 fell on a time-out' END
            AS missing
    FROM ranked
),
paired AS (
    SELECT
        l.*, b.matrix AS base_matrix, b.n AS base_n, b.p50_s AS base_p50_s, b.low_s AS base_low_s,
        b.high_s AS base_high_s, b.p95_s AS base_p95_s, b.missing AS base_missing,
        list_filter(
            json_keys(l.matrix::JSON),
            lambda key: (l.matrix::JSON ->> key) IS DISTINCT FROM (b.matrix::JSON ->> key)
        ) AS differing
    FROM placed AS l
    JOIN placed AS b
        ON b.run_id = l.run_id AND b.group_name = l.group_name AND b.operation = l.operation AND b.clock = l.clock
        AND b.program IS NOT DISTINCT FROM l.program AND b.how IS NOT DISTINCT FROM l.how
        AND b.neighbours IS NULL AND l.neighbours IS NOT NULL
)
SELECT
    run_id, matrix::JSON AS matrix, differing[1] AS matrix_key,
    matrix::JSON ->> differing[1] AS matrix_value,
    base_matrix::JSON ->> differing[1] AS base_value,
    neighbours, group_name, operation, program, how, clock, n, base_n, p50_s, low_s AS p50_low_s, high_s AS p50_high_s,
    base_p50_s, base_low_s AS base_p50_low_s, base_high_s AS base_p50_high_s,
    p50_s / base_p50_s AS ratio,
    low_s / base_high_s AS ratio_low,
    high_s / base_low_s AS ratio_high,
    p95_s, base_p95_s,
    p95_s / base_p95_s AS p95_ratio,
    CASE
        WHEN missing IS NOT NULL THEN 'beside neighbours: ' || missing
        WHEN base_missing IS NOT NULL THEN 'without neighbours: ' || base_missing
    END AS reason
FROM paired
WHERE len(differing) = 1;
COMMENT ON VIEW slowdown IS 'Medians in seconds beside neighbours and alone, and their ratio. Grain: run_id, matrix, base_value, group_name, operation, program, how, clock.';
