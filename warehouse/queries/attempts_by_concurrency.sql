-- Single attempts that worked, beside the limit of attempts in flight; thinned evenly to about $most.
SELECT operation, program, how, cpu_millicores, memory_bytes, in_flight_limit, response_s
FROM latencies
WHERE run_id = $run_id AND operation <> 'create' AND outcome = 'ok' AND in_flight_limit IS NOT NULL
QUALIFY row_number() OVER (ORDER BY attempt) % greatest(1, ceil(count(*) OVER () / $most)::BIGINT) = 0
ORDER BY attempt
