-- Attempts that worked, and the seconds in which they were under way, as the view `throughput` has them.
WITH batches AS (
    SELECT
        trial, step, batch,
        count(*) AS n,
        count(*) FILTER (outcome = 'ok') AS ok,
        max(ended_s) - min(started_s) AS seconds
    FROM attempt_times
    WHERE run_id = $run_id AND operation = $operation AND started_s IS NOT NULL
        AND ($group_name IS NULL OR group_name = $group_name)
        AND ($how IS NULL OR how = $how)
        AND ($program IS NULL OR program = $program)
        AND list_contains($trials, trial)
    GROUP BY ALL
)
SELECT coalesce(sum(n), 0)::BIGINT AS n, sum(ok)::BIGINT AS ok, sum(ok) / nullif(sum(seconds), 0) AS figure
FROM batches
