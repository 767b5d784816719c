-- Single wakes that worked, thinned evenly to about $most.
SELECT matrix, how, state, cpu_millicores, memory_bytes, in_flight_limit, response_s
FROM wakes
WHERE run_id = $run_id AND outcome = 'ok' AND response_s IS NOT NULL
QUALIFY row_number() OVER (ORDER BY attempt) % greatest(1, ceil(count(*) OVER () / $most)::BIGINT) = 0
ORDER BY trial, attempt
