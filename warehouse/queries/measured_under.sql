-- Sizes of the sandboxes on which a figure rests, how many there were, and how many attempts were in flight: what has to
-- be known before it is compared with another's. Background sandboxes are left out.
WITH by_trial AS (
    SELECT
        a.trial, g.cpu_millicores, g.memory_bytes, s.in_flight, count(DISTINCT a.sandbox) AS sandboxes
    FROM attempts AS a
    JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
    JOIN steps AS s ON s.run_id = a.run_id AND s.trial = a.trial AND s.step = a.step AND s.kind = 'load'
    WHERE a.run_id = $run_id AND list_contains($trials, a.trial) AND g.background IS DISTINCT FROM true
        AND ($operation IS NULL OR a.operation = $operation)
        AND ($group_name IS NULL OR a.group_name = $group_name)
    GROUP BY ALL
)
SELECT DISTINCT cpu_millicores, memory_bytes, sandboxes, in_flight
FROM by_trial
ORDER BY ALL
