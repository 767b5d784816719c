-- Grain: one run, sandbox and sample. CPU in cores since the sample before, memory in bytes. A restored sandbox counts
-- its CPU from zero again, so a fall of the counter gives NULL.
CREATE OR REPLACE VIEW sandbox_use AS
WITH wide AS (
    SELECT
        run_id, trial, step, at_s, subject AS sandbox,
        max(value) FILTER (metric = 'cpu_seconds_total') AS cpu_seconds_total,
        max(value) FILTER (metric = 'memory_bytes') AS memory_bytes
    FROM samples
    WHERE scope = 'sandbox'
    GROUP BY ALL
),
differing AS (
    SELECT
        *,
        cpu_seconds_total - lag(cpu_seconds_total) OVER w AS used_s,
        at_s - lag(at_s) OVER w AS passed_s
    FROM wide
    WINDOW w AS (PARTITION BY run_id, sandbox ORDER BY at_s)
)
SELECT * EXCLUDE (used_s, passed_s), CASE WHEN used_s >= 0 THEN used_s / nullif(passed_s, 0) END AS cpu_cores
FROM differing;
COMMENT ON VIEW sandbox_use IS 'CPU in cores and memory in bytes of every sandbox, second by second. Grain: run_id, sandbox, at_s.';
