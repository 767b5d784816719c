-- Wakes of which it is known whether the sandbox kept its memory, and those that lost it.
SELECT
    count(*) FILTER (state <> 'unknown') AS n,
    count(*) FILTER (state = 'lost') AS figure,
    count(*) AS wakes
FROM wakes
WHERE run_id = $run_id AND list_contains($trials, trial)
    AND ($group_name IS NULL OR group_name = $group_name)
    AND ($how IS NULL OR how = $how)
