-- Background sandboxes by whether they ended or stopped loading in any load of others; `untold` ones were never seen.
WITH by_sandbox AS (
    SELECT
        trial, sandbox,
        count(state) > 0 AS is_told,
        coalesce(bool_or(state IN ('ended', 'stopped')), false) AS is_stopped,
        min(reason) AS reason
    FROM neighbours
    WHERE run_id = $run_id AND list_contains($trials, trial)
        AND ($group_name IS NULL OR group_name = $group_name)
    GROUP BY ALL
)
SELECT
    count(*) FILTER (is_told) AS n,
    count(*) FILTER (is_stopped) AS figure,
    count(*) FILTER (NOT is_told) AS untold,
    min(reason) FILTER (NOT is_told) AS reason
FROM by_sandbox
