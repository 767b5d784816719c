-- Runs with more checks than answers, the built-in one included: they were killed before the answers, or got rows
-- since.
SELECT run_id
FROM runs
WHERE json_array_length(checks_spec) + 1 > (SELECT count(*) FROM checks WHERE checks.run_id = runs.run_id)
ORDER BY run_id
