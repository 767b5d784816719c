-- Grain: one run, trial, step and operation. Attempts that worked, per second in which the operation was under way:
-- from the first start to the last end in each batch, added up, so that neither holds nor other operations count.
CREATE OR REPLACE VIEW throughput AS
WITH batches AS (
    SELECT
        run_id, trial, step, operation, batch,
        count(*) FILTER (outcome = 'ok') AS ok,
        max(ended_s) - min(started_s) AS seconds
    FROM attempts
    WHERE started_s IS NOT NULL
    GROUP BY ALL
)
SELECT
    run_id, trial, step, operation,
    sum(ok)::BIGINT AS ok,
    sum(seconds) AS seconds,
    sum(ok) / nullif(sum(seconds), 0) AS ok_per_s
FROM batches
GROUP BY ALL;
COMMENT ON VIEW throughput IS 'Attempts that worked per second. Grain: run_id, trial, step, operation.';
