-- Snapshots of the ledger by state.
SELECT
    state, count(*) AS snapshots, sum(size_bytes)::BIGINT AS size_bytes, sum(uploaded_bytes)::BIGINT AS uploaded_bytes,
    max(tries) AS most_tries, string_agg(DISTINCT error, '; ') AS errors
FROM snapshots
WHERE run_id = $run_id
GROUP BY state
ORDER BY state
