-- Phases of closed loops, with the trial's matrix values and repetition, and the group that each led.
SELECT p.*, t.matrix, t.repetition, max(t.repetition) OVER () AS repetitions, s.group_name, g.cpu_millicores
FROM phases AS p
JOIN trials AS t ON t.run_id = p.run_id AND t.trial = p.trial
JOIN steps AS s ON s.run_id = p.run_id AND s.trial = p.trial AND s.step = p.step
LEFT JOIN groups AS g ON g.run_id = p.run_id AND g.trial = p.trial AND g.group_name = s.group_name
WHERE p.run_id = $run_id AND p.in_flight_limit IS NOT NULL
ORDER BY p.trial, p.step, list_position(['create', 'resume', 'wake', 'exec', 'suspend', 'delete'], p.operation)
