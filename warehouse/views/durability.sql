-- Grain: one run, trial and durability step. Times in seconds, sizes in bytes.
--   suspended           sandboxes of the group that were suspended when the step began
--   snapshots           stored snapshots that it watched; `missing` are suspended sandboxes without any
--   durable, lost, not_durable   by state; not durable are all the others, lost and missing ones included
--   restored            snapshots that were restored from the store alone, `restored_right` with both nonces,
--                       `restored_wrong` without one of them; the others were not looked at
--   all_durable_after_s          from the first suspend's return until the last snapshot was durable; NULL, with
--                       all_durable_reason, unless all are
--   first_byte_after_s, first_durable_after_s, last_durable_after_s   from the same moment
--   durable_p50_s, durable_max_s from each suspend's own return; snapshots that are not durable rank as infinite, and a
--                       figure that falls on one is NULL; the p50 needs 5
--   lost_upper_share    exact upper bound of the share that is lost, one-sided with 95% confidence (`intervals.sql`),
--                       from the snapshots whose fate is known: durable or lost
--   wrong_upper_share   the same of restored_wrong in those that were looked at
CREATE OR REPLACE VIEW durability AS
WITH phases_before AS (
    SELECT
        s.run_id, s.trial, s.step, a.sandbox,
        arg_max(a.operation, a.attempt) FILTER (a.outcome = 'ok' AND a.operation <> 'exec') AS last_operation
    FROM steps AS s
    JOIN attempts AS a
        ON a.run_id = s.run_id AND a.trial = s.trial AND a.group_name = s.group_name AND a.step < s.step
    WHERE s.kind = 'durability'
    GROUP BY ALL
),
expected AS (
    SELECT run_id, trial, step, count(*) AS suspended, list(sandbox) AS sandboxes
    FROM phases_before
    WHERE last_operation = 'suspend'
    GROUP BY ALL
),
watched AS (
    SELECT
        run_id, trial, step,
        count(*) AS snapshots,
        list(DISTINCT sandbox) AS sandboxes,
        count(*) FILTER (state = 'durable') AS durable,
        count(*) FILTER (state = 'lost') AS lost,
        string_agg(DISTINCT state, ', ' ORDER BY state) FILTER (state <> 'durable') AS other_states,
        count(*) FILTER (restored_s IS NOT NULL OR files_ok IS NOT NULL OR memory_ok IS NOT NULL) AS restored,
        count(*) FILTER (files_ok AND memory_ok) AS restored_right,
        count(*) FILTER (NOT files_ok OR NOT memory_ok) AS restored_wrong,
        min(suspended_s) AS first_suspended_s,
        min(first_byte_s) AS first_byte_s,
        min(durable_s) FILTER (state = 'durable') AS first_durable_s,
        max(durable_s) FILTER (state = 'durable') AS last_durable_s,
        count(*) FILTER (state = 'durable' AND (durable_s IS NULL OR suspended_s IS NULL)) AS untimed,
        quantile_disc(CASE WHEN state = 'durable' THEN durable_s - suspended_s ELSE 'infinity' END, 0.5) AS p50,
        max(CASE WHEN state = 'durable' THEN durable_s - suspended_s ELSE 'infinity' END) AS longest,
        sum(size_bytes)::BIGINT AS size_bytes,
        sum(uploaded_bytes)::BIGINT AS uploaded_bytes
    FROM snapshots
    GROUP BY ALL
),
counted AS (
    SELECT
        s.run_id, s.trial, s.step, s.group_name, coalesce(e.suspended, 0) AS suspended,
        coalesce(w.snapshots, 0) AS snapshots, coalesce(w.durable, 0) AS durable, coalesce(w.lost, 0) AS lost,
        coalesce(w.restored, 0) AS restored, coalesce(w.restored_right, 0) AS restored_right,
        coalesce(w.restored_wrong, 0) AS restored_wrong,
        len(list_filter(coalesce(e.sandboxes, []), lambda x: NOT list_contains(coalesce(w.sandboxes, []), x)))
            AS missing,
        w.* EXCLUDE (run_id, trial, step, snapshots, sandboxes, durable, lost, restored, restored_right, restored_wrong)
    FROM steps AS s
    LEFT JOIN expected AS e ON e.run_id = s.run_id AND e.trial = s.trial AND e.step = s.step
    LEFT JOIN watched AS w ON w.run_id = s.run_id AND w.trial = s.trial AND w.step = s.step
    WHERE s.kind = 'durability'
)
SELECT
    run_id, trial, step, group_name, suspended, snapshots, missing, durable, lost,
    snapshots - durable + missing AS not_durable,
    other_states, restored, restored_right, restored_wrong,
    CASE WHEN snapshots > 0 AND durable = snapshots AND missing = 0 AND untimed = 0
        THEN last_durable_s - first_suspended_s END AS all_durable_after_s,
    CASE
        WHEN snapshots = 0 THEN 'no snapshot was watched'
        WHEN missing > 0 THEN missing || ' of ' || suspended || ' suspended sandboxes have no snapshot in the ledger'
        WHEN durable < snapshots THEN
            (snapshots - durable) || ' of ' || snapshots || ' are not durable (' || other_states || ')'
        WHEN untimed > 0 THEN 'of ' || untimed || ' snapshots it is not known when they were suspended or durable'
    END AS all_durable_reason,
    first_byte_s - first_suspended_s AS first_byte_after_s,
    first_durable_s - first_suspended_s AS first_durable_after_s,
    last_durable_s - first_suspended_s AS last_durable_after_s,
    CASE WHEN snapshots >= 5 AND untimed = 0 AND NOT isinf(p50) THEN p50 END AS durable_p50_s,
    CASE WHEN untimed = 0 AND NOT isinf(longest) THEN longest END AS durable_max_s,
    size_bytes, uploaded_bytes,
    upper_share_95(lost, lost + durable) AS lost_upper_share,
    upper_share_95(restored_wrong, restored_right + restored_wrong) AS wrong_upper_share
FROM counted;
COMMENT ON VIEW durability IS 'How many snapshots became durable, lost or wrong, and after how many seconds. Grain: run_id, trial, step.';
