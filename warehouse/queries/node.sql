-- The node second by second, thinned to $most samples at most.
SELECT n.at_s, n.cpu_cores, n.memory_bytes / 1073741824.0 AS memory_gib, n.trial, t.matrix, t.repetition
FROM node_use AS n
JOIN trials AS t ON t.run_id = n.run_id AND t.trial = n.trial
WHERE n.run_id = $run_id
QUALIFY row_number() OVER (ORDER BY n.at_s) % greatest(1, ceil(count(*) OVER () / $most)::BIGINT) = 0
ORDER BY n.at_s
