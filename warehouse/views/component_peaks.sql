-- Grain: one run, trial, step and component, with the operations that the step performed.
--   peak_millicores   its busiest second, in thousandths of a core, and peak_at_s when that was
--   mean_millicores   from the step's first sample to its last; NULL where the counter fell in between
--   uploaded_bytes    bytes that it sent to the store in the step
-- NULL with peak_reason where no two samples lie far enough apart.
CREATE OR REPLACE VIEW component_peaks AS
SELECT
    run_id, trial, step, component, scope, operations,
    count(cpu_millicores) AS n,
    max(cpu_millicores) AS peak_millicores,
    arg_max(at_s, cpu_millicores) AS peak_at_s,
    CASE WHEN max(cpu_seconds_total) = arg_max(cpu_seconds_total, at_s)
        AND max(at_s) FILTER (cpu_seconds_total IS NOT NULL) - min(at_s) FILTER (cpu_seconds_total IS NOT NULL) >= 0.25
        THEN 1000 * (max(cpu_seconds_total) - arg_min(cpu_seconds_total, at_s))
            / (max(at_s) FILTER (cpu_seconds_total IS NOT NULL) - min(at_s) FILTER (cpu_seconds_total IS NOT NULL))
    END AS mean_millicores,
    max(uploaded_bytes) - min(uploaded_bytes) AS uploaded_bytes,
    CASE WHEN count(cpu_millicores) = 0 THEN 'no two samples of the step lie 0.25 s apart' END AS peak_reason
FROM component_use
GROUP BY ALL;
COMMENT ON VIEW component_peaks IS 'Peak and mean CPU of components in thousandths of a core, by step. Grain: run_id, trial, step, component.';
