-- Attempts by outcome over the pooled rows that a figure is asked of. Skipped and cancelled ones were never made.
SELECT
    count(*) AS n,
    count(*) FILTER (outcome = 'ok') AS ok,
    count(*) FILTER (outcome = 'refused') AS refused,
    count(*) FILTER (outcome IN ('failed', 'unknown', 'unsupported')) AS failed,
    count(*) FILTER (outcome = 'timed_out') AS timed_out
FROM attempt_times
WHERE run_id = $run_id AND operation = $operation
    AND outcome NOT IN ('skipped', 'cancelled')
    AND ($group_name IS NULL OR group_name = $group_name)
    AND ($how IS NULL OR how = $how)
    AND ($program IS NULL OR program = $program)
    AND list_contains($trials, trial)
