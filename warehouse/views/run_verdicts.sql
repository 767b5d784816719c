-- Grain: one run. Whether its figures may be used, worked out from its rows each time it is asked:
--   partial            it did not finish: the run, a trial or a step has no end, or was cancelled or failed, or lines
--                      of its segments could not be read
--   contaminated       something of ours was there when a trial's load began, or was left at the end, or that was not
--                      counted; or a background sandbox, meant to load the node while others were measured, did not
--                      start, ended, or stopped loading (view `neighbours`)
--   generator-limited  the generator itself was late: 1 in 100 attempts started more than 0.1 s after it was due, or
--                      its event loop lagged by more than 0.1 s in 1 of 100 samples (not asked of virtual time)
--   valid              none of these
CREATE OR REPLACE VIEW run_verdicts AS
WITH unfinished AS (
    SELECT run_id, count(*) AS trials FROM trials WHERE outcome IS DISTINCT FROM 'finished' GROUP BY ALL
),
undone AS (
    SELECT
        run_id, count(*) AS all_steps,
        count(*) FILTER (coalesce(outcome, '') NOT IN ('finished', 'refused')) AS steps
    FROM steps GROUP BY ALL
),
made AS (
    SELECT run_id, count(*) AS trials FROM trials GROUP BY ALL
),
broken AS (
    SELECT run_id, sum(broken_lines)::BIGINT AS lines FROM landed_segments GROUP BY ALL
),
late AS (
    SELECT
        run_id, count(*) AS attempts,
        quantile_disc(started_s - intended_s, 0.99) FILTER (started_s IS NOT NULL) AS lateness_p99_s
    FROM attempts GROUP BY ALL
),
lagging AS (
    SELECT run_id, quantile_disc(value, 0.99) AS loop_lag_p99_s
    FROM samples WHERE scope = 'generator' AND metric = 'loop_lag_s' AND value IS NOT NULL GROUP BY ALL
),
dirty AS (
    SELECT
        run_id,
        string_agg(coalesce(count::VARCHAR, 'unknown') || ' ' || kind || ' at the ' || moment, ', ' ORDER BY moment, kind)
            FILTER (count IS NULL OR count > 0) AS leftovers,
        count(DISTINCT trial) FILTER (moment = 'start') AS counted_at_start,
        count(*) FILTER (moment = 'end') AS counted_at_end
    FROM inventory WHERE moment IN ('start', 'end') GROUP BY ALL
),
unstarted AS (
    SELECT a.run_id, a.trial, a.group_name, a.sandbox, 'did not start' AS state
    FROM attempts AS a
    JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
    WHERE g.background AND a.operation IN ('resume', 'wake')
    GROUP BY a.run_id, a.trial, a.group_name, a.sandbox
    HAVING count(*) FILTER (a.outcome = 'ok') = 0
),
silenced AS (
    SELECT
        run_id, trial, group_name, sandbox,
        CASE min(state) WHEN 'ended' THEN 'ended' ELSE 'stopped loading' END AS state
    FROM neighbours
    WHERE state IN ('ended', 'stopped')
    GROUP BY run_id, trial, group_name, sandbox
),
faults AS (
    SELECT f.run_id, f.trial, f.group_name, f.state, count(*) AS sandboxes
    FROM (FROM unstarted UNION ALL FROM silenced) AS f
    GROUP BY ALL
),
quiet AS (
    SELECT
        f.run_id,
        string_agg(
            f.sandboxes || ' of ' || g.count || ' ' || f.group_name || ' ' || f.state || ' in trial ' || f.trial, ', '
            ORDER BY f.trial, f.group_name, f.state
        ) AS neighbours
    FROM faults AS f
    JOIN groups AS g ON g.run_id = f.run_id AND g.trial = f.trial AND g.group_name = f.group_name
    GROUP BY ALL
),
evidence AS (
    SELECT
        r.run_id, r.outcome, r.error, r.trials_planned,
        coalesce(m.trials, 0) AS trials, coalesce(u.trials, 0) AS unfinished_trials,
        coalesce(l.attempts, 0) AS attempts, l.lateness_p99_s, g.loop_lag_p99_s, d.leftovers, q.neighbours,
        coalesce(d.counted_at_start, 0) AS counted_at_start, coalesce(d.counted_at_end, 0) AS counted_at_end,
        coalesce(n.all_steps, 0) AS steps, coalesce(n.steps, 0) AS unfinished_steps, coalesce(b.lines, 0) AS broken_lines
    FROM runs AS r
    LEFT JOIN made AS m ON m.run_id = r.run_id
    LEFT JOIN unfinished AS u ON u.run_id = r.run_id
    LEFT JOIN undone AS n ON n.run_id = r.run_id
    LEFT JOIN broken AS b ON b.run_id = r.run_id
    LEFT JOIN late AS l ON l.run_id = r.run_id
    LEFT JOIN lagging AS g ON g.run_id = r.run_id
    LEFT JOIN dirty AS d ON d.run_id = r.run_id
    LEFT JOIN quiet AS q ON q.run_id = r.run_id
),
judged AS (
    SELECT
        *,
        CASE
            WHEN outcome IS NULL THEN 'the run has no end: it was killed, or is still running'
            WHEN outcome <> 'finished' THEN
                'the run ' || CASE outcome WHEN 'failed' THEN 'failed' ELSE 'was ' || outcome END
                || coalesce(': ' || nullif(error, outcome), '')
            WHEN trials < trials_planned THEN trials || ' of ' || trials_planned || ' trials were begun'
            WHEN unfinished_trials > 0 THEN unfinished_trials || ' of ' || trials || ' trials did not finish'
            WHEN unfinished_steps > 0 THEN unfinished_steps || ' of ' || steps || ' steps did not finish'
            WHEN attempts = 0 THEN 'no attempt was made'
            WHEN broken_lines > 0 THEN 'lines of its segments that could not be read: ' || broken_lines
        END AS partial_reason,
        CASE
            WHEN leftovers IS NOT NULL THEN 'leftovers: ' || leftovers
            WHEN counted_at_start < trials THEN 'what was there at the start was not counted'
            WHEN counted_at_end = 0 THEN 'what was left at the end was not counted'
            WHEN neighbours IS NOT NULL THEN 'background: ' || neighbours
        END AS contaminated_reason,
        CASE
            WHEN lateness_p99_s > 0.1 THEN '1 in 100 attempts started over ' || round(lateness_p99_s, 3) || ' s late'
            WHEN loop_lag_p99_s > 0.1 THEN 'the event loop lagged by ' || round(loop_lag_p99_s, 3) || ' s (p99)'
        END AS limited_reason
    FROM evidence
)
SELECT
    run_id,
    CASE
        WHEN partial_reason IS NOT NULL THEN 'partial'
        WHEN contaminated_reason IS NOT NULL THEN 'contaminated'
        WHEN limited_reason IS NOT NULL THEN 'generator-limited'
        ELSE 'valid'
    END AS verdict,
    coalesce(partial_reason, contaminated_reason, limited_reason) AS reason,
    coalesce(partial_reason, contaminated_reason, limited_reason) IS NULL AS usable,
    trials, unfinished_trials, unfinished_steps, attempts, broken_lines, lateness_p99_s, loop_lag_p99_s, leftovers
FROM judged;
COMMENT ON VIEW run_verdicts IS 'Whether the figures of a run may be used, and why not. Grain: run_id.';
