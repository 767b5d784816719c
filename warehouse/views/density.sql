-- Grain: one run, trial and batch of a load that adds sandboxes: that resumes them in one round, in more batches than
-- one or until it is refused, and neither suspends nor deletes any. Times in seconds, memory in bytes.
--   running             sandboxes that this load had resumed when the batch was over
--   resume_p50_s        median response time of the batch's resumes, as `percentile.sql` says; n counts those that
--                       worked or timed out, p50_reason says why it is withheld
--   node_memory_bytes   memory in use on all nodes, each the mean of its last second of samples after the batch
--   refused, resource   resumes or creates of the batch that were refused, and which booking was full
CREATE OR REPLACE VIEW density AS
WITH stepped AS (
    SELECT a.run_id, a.trial, a.step
    FROM attempts AS a
    JOIN steps AS s ON s.run_id = a.run_id AND s.trial = a.trial AND s.step = a.step
    GROUP BY a.run_id, a.trial, a.step, s.outcome
    HAVING (count(DISTINCT a.batch) > 1 OR s.outcome = 'refused')
        AND count(*) FILTER (a.operation = 'resume') > 0
        AND max(a.round) = 0
        AND count(*) FILTER (a.operation IN ('suspend', 'delete')) = 0
),
batches AS (
    SELECT
        a.run_id, a.trial, a.step, a.batch, a.group_name,
        count(*) FILTER (a.operation = 'resume' AND a.outcome = 'ok') AS resumed,
        count(*) FILTER (a.operation = 'resume' AND a.outcome IN ('ok', 'timed_out')) AS n,
        quantile_disc(CASE WHEN a.outcome = 'ok' THEN a.ready_s - a.intended_s ELSE 'infinity'::DOUBLE END, 0.5)
            FILTER (a.operation = 'resume' AND a.outcome IN ('ok', 'timed_out')) AS p50,
        min(a.ended_s - a.intended_s) FILTER (a.operation = 'resume' AND a.outcome = 'timed_out') AS waited_s,
        count(*) FILTER (a.outcome = 'refused') AS refused,
        min(a.resource) FILTER (a.outcome = 'refused') AS resource,
        min(a.intended_s) AS started_s,
        max(a.ended_s) AS ended_s
    FROM attempts AS a
    JOIN stepped AS s ON s.run_id = a.run_id AND s.trial = a.trial AND s.step = a.step
    GROUP BY ALL
),
lasting AS (
    SELECT
        *,
        sum(resumed) OVER (PARTITION BY run_id, trial, step ORDER BY batch)::BIGINT AS running,
        coalesce(lead(started_s) OVER (PARTITION BY run_id, trial, step ORDER BY batch), 'infinity') AS until_s
    FROM batches
),
sampled AS (
    SELECT
        l.run_id, l.trial, l.step, l.batch, s.subject, s.value,
        s.at_s > max(s.at_s) OVER (PARTITION BY l.run_id, l.trial, l.step, l.batch, s.subject) - 1.0 AS is_last
    FROM lasting AS l
    JOIN samples AS s
        ON s.run_id = l.run_id AND s.trial = l.trial AND s.step = l.step
        AND s.scope = 'node' AND s.metric = 'memory_bytes' AND s.value IS NOT NULL
        AND s.at_s >= l.ended_s AND s.at_s < l.until_s
),
of_node AS (
    SELECT run_id, trial, step, batch, subject, avg(value) AS bytes FROM sampled WHERE is_last GROUP BY ALL
),
used AS (
    SELECT run_id, trial, step, batch, sum(bytes) AS node_memory_bytes FROM of_node GROUP BY ALL
)
SELECT
    l.run_id, l.trial, l.step, l.batch, l.group_name, l.running, l.resumed, l.n,
    percentile_s(l.p50, l.waited_s, l.n, l.resumed, 5) AS resume_p50_s,
    percentile_censored(l.p50, l.n, l.resumed, 5) AS resume_p50_censored,
    CASE
        WHEN l.resumed = 0 THEN 'none was resumed'
        WHEN l.n < 5 THEN 'n = ' || l.n || ', and it needs 5'
    END
        AS p50_reason,
    u.node_memory_bytes,
    CASE WHEN u.node_memory_bytes IS NULL THEN 'no sample fell between this batch and the next' END AS memory_reason,
    l.refused, l.resource, l.started_s, l.ended_s, g.cpu_millicores, g.memory_bytes
FROM lasting AS l
LEFT JOIN used AS u ON u.run_id = l.run_id AND u.trial = l.trial AND u.step = l.step AND u.batch = l.batch
LEFT JOIN groups AS g ON g.run_id = l.run_id AND g.trial = l.trial AND g.group_name = l.group_name;
COMMENT ON VIEW density IS 'Running sandboxes, resume p50 in seconds and node memory in bytes, batch by batch. Grain: run_id, trial, step, batch.';
