-- Grain: one run, trial, group and program that was run inside its sandboxes. Times in seconds.
--   inside_…    by the program's own clock; inside_reason says why there is none
--   service_…   from outside: from the call until it had ended, the way into the sandbox included
-- Percentiles, and the 95% interval of each p50 (…_low_s, …_high_s), as `percentile.sql` says. Of one that timed out
-- nobody knows its time inside: it ranks as infinite, and a percentile that falls on it is NULL.
CREATE OR REPLACE VIEW programs AS
WITH timed AS (
    SELECT
        *,
        CASE outcome WHEN 'ok' THEN inside_s WHEN 'timed_out' THEN 'infinity'::DOUBLE END AS inside_rank_s,
        CASE outcome WHEN 'ok' THEN service_s WHEN 'timed_out' THEN 'infinity'::DOUBLE END AS service_rank_s,
        CASE WHEN outcome = 'timed_out' THEN ended_s - started_s END AS service_waited_s
    FROM attempt_times
    WHERE operation = 'exec' AND program IS NOT NULL AND outcome IN ('ok', 'timed_out')
),
ranked AS (
    SELECT
        run_id, trial, matrix, repetition, group_name, program,
        count(*) AS n,
        count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (outcome = 'timed_out') AS timed_out,
        count(inside_s) AS told,
        count(inside_rank_s) AS inside_n,
        quantile_disc(inside_rank_s, 0.5) AS inside_p50, quantile_disc(inside_rank_s, 0.95) AS inside_p95,
        list_sort(list(inside_rank_s) FILTER (inside_rank_s IS NOT NULL)) AS inside_ordered,
        count(service_rank_s) AS service_n,
        quantile_disc(service_rank_s, 0.5) AS service_p50, quantile_disc(service_rank_s, 0.95) AS service_p95,
        list_sort(list(service_rank_s) FILTER (service_rank_s IS NOT NULL)) AS service_ordered,
        min(service_waited_s) AS service_waited_s
    FROM timed
    GROUP BY ALL
)
SELECT
    run_id, trial, matrix, repetition, group_name, program, n, ok, timed_out, inside_n,
    percentile_s(inside_p50, NULL, inside_n, told, 5) AS inside_p50_s,
    CASE WHEN told > 0 THEN median_low(inside_ordered, inside_n) END AS inside_p50_low_s,
    CASE WHEN told > 0 THEN median_high(inside_ordered, inside_n) END AS inside_p50_high_s,
    percentile_s(inside_p95, NULL, inside_n, told, 20) AS inside_p95_s,
    CASE
        WHEN ok > 0 AND told = 0 THEN 'the program does not tell its own time'
        WHEN inside_n >= 5 AND isinf(inside_p50) THEN 'the p50 fell on a time-out'
        WHEN inside_n < 20 OR told = 0 THEN withheld_reason(inside_n, told)
    END AS inside_reason,
    percentile_s(service_p50, service_waited_s, service_n, ok, 5) AS service_p50_s,
    percentile_censored(service_p50, service_n, ok, 5) AS service_p50_censored,
    median_low(service_ordered, service_n) AS service_p50_low_s,
    median_high(service_ordered, service_n) AS service_p50_high_s,
    percentile_s(service_p95, service_waited_s, service_n, ok, 20) AS service_p95_s,
    percentile_censored(service_p95, service_n, ok, 20) AS service_p95_censored,
    CASE WHEN service_n < 20 OR ok = 0 THEN withheld_reason(service_n, ok) END AS service_reason
FROM ranked;
COMMENT ON VIEW programs IS 'Times of programs run inside sandboxes, by their own clock and from outside, in seconds. Grain: run_id, trial, group_name, program.';
