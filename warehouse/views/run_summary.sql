-- Grain: one run: what ran where and when, for how long in seconds, with how many attempts, and its verdict.
-- Failed counts those of unknown outcome and unsupported ones as well.
CREATE OR REPLACE VIEW run_summary AS
WITH counted AS (
    SELECT
        run_id, count(*) AS attempts, count(*) FILTER (outcome = 'ok') AS ok,
        count(*) FILTER (outcome = 'refused') AS refused,
        count(*) FILTER (outcome IN ('failed', 'unsupported', 'unknown')) AS failed,
        count(*) FILTER (outcome = 'timed_out') AS timed_out
    FROM attempts GROUP BY ALL
)
SELECT
    r.run_id, r.scenario, r.size, r.target, r.platform, r.simulated, r.started_at,
    epoch(r.ended_at - r.started_at) AS seconds,
    v.verdict, v.reason, r.outcome,
    coalesce(c.attempts, 0) AS attempts, coalesce(c.ok, 0) AS ok, coalesce(c.refused, 0) AS refused,
    coalesce(c.failed, 0) AS failed, coalesce(c.timed_out, 0) AS timed_out
FROM runs AS r
JOIN run_verdicts AS v ON v.run_id = r.run_id
LEFT JOIN counted AS c ON c.run_id = r.run_id;
COMMENT ON VIEW run_summary IS 'One line a run. Grain: run_id.';
