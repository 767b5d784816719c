-- What neighbours cost, in the order of trials.
SELECT s.*, coalesce(s.program, s.operation || coalesce(', ' || s.how, '')) AS measure
FROM slowdown AS s
JOIN (SELECT matrix::VARCHAR AS matrix, min(trial) AS trial FROM trials WHERE run_id = $run_id GROUP BY ALL) AS t
    ON t.matrix = s.matrix::VARCHAR
WHERE s.run_id = $run_id
ORDER BY
    list_position(['exec', 'suspend', 'resume', 'wake'], s.operation), measure, s.group_name, t.trial, s.base_value, s.clock
