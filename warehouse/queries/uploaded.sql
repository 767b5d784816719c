-- Bytes sent to the store during a step, by the uploader's own count, thinned to about $most samples.
SELECT at_s - $origin_s AS after_s, (uploaded_bytes - first_value(uploaded_bytes) OVER (ORDER BY at_s)) / 1048576.0 AS mib
FROM component_use
WHERE run_id = $run_id AND trial = $trial AND step = $step AND uploaded_bytes IS NOT NULL
QUALIFY row_number() OVER (ORDER BY at_s DESC) % greatest(1, ceil(count(*) OVER () / $most)::BIGINT) = 0
ORDER BY at_s
