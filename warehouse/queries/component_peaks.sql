-- The busiest second of each component in each step that performed operations.
SELECT p.*, array_to_string(p.operations, ', ') AS performed, t.matrix, t.repetition,
    max(t.repetition) OVER () AS repetitions
FROM component_peaks AS p
JOIN trials AS t ON t.run_id = p.run_id AND t.trial = p.trial
WHERE p.run_id = $run_id AND p.operations IS NOT NULL
    AND p.run_id IN (SELECT run_id FROM samples WHERE scope = 'component')
ORDER BY p.trial, p.step, p.scope, p.component
