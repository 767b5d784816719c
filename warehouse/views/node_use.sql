-- Grain: one run and sample of the node. CPU in cores since the sample before, memory in bytes, pressure in percent.
-- The kernel counts CPU in steps of 10 ms, so samples that lie closer together than 0.25 s give no cores (NULL).
CREATE OR REPLACE VIEW node_use AS
WITH wide AS (
    SELECT
        run_id, trial, step, at_s, subject,
        max(value) FILTER (metric = 'cpu_seconds_total') AS cpu_seconds_total,
        max(value) FILTER (metric = 'memory_bytes') AS memory_bytes,
        max(value) FILTER (metric = 'running') AS running,
        max(value) FILTER (metric = 'pressure_cpu_some_avg10') AS pressure_cpu_percent,
        max(value) FILTER (metric = 'pressure_memory_some_avg10') AS pressure_memory_percent,
        max(value) FILTER (metric = 'pressure_io_some_avg10') AS pressure_io_percent
    FROM samples
    WHERE scope = 'node'
    GROUP BY ALL
)
SELECT
    *,
    CASE WHEN at_s - lag(at_s) OVER w >= 0.25 AND cpu_seconds_total >= lag(cpu_seconds_total) OVER w
        THEN (cpu_seconds_total - lag(cpu_seconds_total) OVER w) / (at_s - lag(at_s) OVER w) END AS cpu_cores
FROM wide
WINDOW w AS (PARTITION BY run_id, subject ORDER BY at_s);
COMMENT ON VIEW node_use IS 'CPU in cores, memory in bytes and pressure in percent of the node, second by second. Grain: run_id, at_s.';
