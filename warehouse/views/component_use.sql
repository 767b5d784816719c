-- Grain: one run, component and sample: what a part of the platform, or the generator itself, used since the sample
-- before in the same step, in thousandths of a core; with the operations that the step performed. Samples that lie
-- closer together than 0.25 s give no figure (NULL), since counters move in steps of up to 10 ms; neither does a
-- counter that fell, as one does when a process was started anew.
--   uploaded_bytes   bytes sent to the store until then, where the component counts them
CREATE OR REPLACE VIEW component_use AS
WITH wide AS (
    SELECT
        run_id, trial, step, at_s, scope, subject AS component,
        max(value) FILTER (metric = 'cpu_seconds_total') AS cpu_seconds_total,
        max(value) FILTER (metric = 'uploaded_bytes_total') AS uploaded_bytes
    FROM samples
    WHERE scope IN ('component', 'generator')
    GROUP BY ALL
),
performed AS (
    SELECT run_id, trial, step, list_sort(list(DISTINCT operation)) AS operations
    FROM attempts
    GROUP BY ALL
),
differing AS (
    SELECT
        *,
        cpu_seconds_total - lag(cpu_seconds_total) OVER w AS used_s,
        at_s - lag(at_s) OVER w AS passed_s
    FROM wide
    WINDOW w AS (PARTITION BY run_id, trial, step, scope, component ORDER BY at_s)
)
SELECT
    d.run_id, d.trial, d.step, d.at_s, d.component, d.scope, p.operations, d.cpu_seconds_total, d.uploaded_bytes,
    CASE WHEN d.used_s >= 0 AND d.passed_s >= 0.25 THEN 1000 * d.used_s / d.passed_s END AS cpu_millicores
FROM differing AS d
LEFT JOIN performed AS p ON p.run_id = d.run_id AND p.trial = d.trial AND p.step = d.step;
COMMENT ON VIEW component_use IS 'CPU of components and of the generator in thousandths of a core, second by second. Grain: run_id, component, at_s.';
