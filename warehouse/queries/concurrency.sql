-- Latencies by attempts in flight, of what is asked of sandboxes that exist.
SELECT * FROM concurrency
WHERE run_id = $run_id AND operation <> 'create'
ORDER BY cpu_millicores, memory_bytes, operation, program, how, in_flight_limit
