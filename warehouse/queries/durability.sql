-- What the durability steps came to, with the trial's matrix values and repetition.
SELECT d.*, t.matrix, t.repetition, max(t.repetition) OVER () AS repetitions
FROM durability AS d
JOIN trials AS t ON t.run_id = d.run_id AND t.trial = d.trial
WHERE d.run_id = $run_id
ORDER BY d.trial, d.step
