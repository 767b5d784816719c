-- Programs that were run inside sandboxes, with the trial's matrix values and repetition.
SELECT p.*, max(p.repetition) OVER () AS repetitions
FROM programs AS p
WHERE p.run_id = $run_id
ORDER BY p.program, p.group_name, p.trial
