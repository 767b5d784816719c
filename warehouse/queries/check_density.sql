-- The least of the ceilings of the trials that a check matches: what the target held each time.
SELECT count(*) AS n, min(running) AS figure
FROM density_ceiling
WHERE run_id = $run_id AND list_contains($trials, trial)
    AND ($group_name IS NULL OR group_name = $group_name)
