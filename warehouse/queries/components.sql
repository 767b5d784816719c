-- CPU of components second by second, thinned to about $most samples in all.
SELECT at_s, component, scope, cpu_millicores
FROM component_use
WHERE run_id = $run_id AND cpu_millicores IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY component ORDER BY at_s)
    % greatest(1, ceil(count(*) OVER () / $most)::BIGINT) = 0
ORDER BY scope, component, at_s
