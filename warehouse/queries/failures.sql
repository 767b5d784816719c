-- What did not work, by message; names of sandboxes are left out, so that alike messages count together.
SELECT
    operation, outcome, regexp_replace(error, 'sg-[a-z0-9-]+', 'sg-…', 'g') AS message, count(*) AS attempts
FROM attempts
WHERE run_id = $run_id AND outcome <> 'ok'
GROUP BY ALL
ORDER BY attempts DESC, operation, outcome, message
LIMIT 30
