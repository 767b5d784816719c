-- What the durability steps that a figure is asked of came to, added up; `unresolved` snapshots are neither durable nor
-- lost, nor was there a newer one.
WITH steps_asked AS (
    SELECT * FROM durability
    WHERE run_id = $run_id AND list_contains($trials, trial)
        AND ($group_name IS NULL OR group_name = $group_name)
),
stale AS (
    SELECT count(*) AS stale
    FROM snapshots AS s
    JOIN steps_asked AS a ON a.run_id = s.run_id AND a.trial = s.trial AND a.step = s.step
    WHERE s.state = 'stale'
)
SELECT
    count(*) AS steps,
    count(*) FILTER (snapshots = 0) AS empty_steps,
    sum(snapshots)::BIGINT AS snapshots,
    sum(durable)::BIGINT AS durable,
    sum(lost)::BIGINT AS lost,
    sum(not_durable)::BIGINT AS not_durable,
    (sum(not_durable) - sum(lost))::BIGINT - any_value(stale.stale) AS unresolved,
    sum(restored)::BIGINT AS restored,
    sum(restored_wrong)::BIGINT AS restored_wrong,
    sum(restored_right)::BIGINT AS restored_right,
    max(all_durable_after_s) AS all_durable_after,
    min(all_durable_reason) AS all_durable_reason,
    upper_share_95(sum(lost)::BIGINT, (sum(lost) + sum(durable))::BIGINT) AS lost_upper_share,
    upper_share_95(sum(restored_wrong)::BIGINT, (sum(restored_wrong) + sum(restored_right))::BIGINT) AS wrong_upper_share
FROM steps_asked, stale
