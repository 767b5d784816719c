-- The busiest second of the components that a figure is asked of, during the steps that performed an operation. Without
-- a name all of the platform's own are meant, and not the generator.
SELECT coalesce(sum(n), 0)::BIGINT AS n, max(peak_millicores) AS figure, min(peak_reason) AS peak_reason
FROM component_peaks
WHERE run_id = $run_id AND list_contains($trials, trial)
    AND CASE WHEN $component IS NULL THEN scope = 'component' ELSE component = $component END
    AND ($operation IS NULL OR list_contains(operations, $operation))
