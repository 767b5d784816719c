-- Steps that performed operations, and which.
SELECT s.trial, s.step, s.started_s, s.ended_s, string_agg(DISTINCT a.operation, ', ') AS operations
FROM steps AS s
JOIN attempts AS a ON a.run_id = s.run_id AND a.trial = s.trial AND a.step = s.step
WHERE s.run_id = $run_id AND s.ended_s IS NOT NULL
GROUP BY ALL
ORDER BY s.started_s
