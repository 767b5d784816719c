-- Runs with more checks than answers: they were killed before the answers, or got rows since.
SELECT run_id
FROM runs
WHERE json_array_length(checks_spec) > (SELECT count(*) FROM checks WHERE checks.run_id = runs.run_id)
ORDER BY run_id
