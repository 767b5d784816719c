-- Grain: one background sandbox in one load of other groups, from when it was resumed until it was suspended or
-- deleted.
--   used_s, seconds   CPU seconds that it used from its first sample in the step to its last, and how far these lie
--                    apart
--   share             of its CPU limit
--   state             loading: it used its CPU;
--                     ended: it was sampled no more when the step's last sample was taken;
--                     stopped: over a second or more it used less than a tenth of its CPU limit, or the step's last two
--                     samples, over a second or more, brought none at all;
--                     NULL, with reason: nobody can tell
-- Why a tenth: what a program that never waits gets is its limit, or its share of a node that is booked for more than
-- it has; a tenth is left to it until ten times as much is booked. One that hangs, sleeps or is frozen uses next to
-- none. The built-in disk-hog waits by design, for seconds without any CPU while its 512 MB are synced: it has stopped
-- only when it used less than a fiftieth over ten seconds or more.
CREATE OR REPLACE VIEW neighbours AS
WITH background AS (
    SELECT
        a.run_id, a.trial, a.group_name, a.sandbox, g.cpu_millicores,
        coalesce(g.workload = 'disk-hog', false) AS waits,
        min(a.ready_s) FILTER (a.operation IN ('resume', 'wake') AND a.outcome = 'ok') AS since_s,
        coalesce(min(a.started_s) FILTER (a.operation IN ('suspend', 'delete')), 'infinity') AS until_s
    FROM attempts AS a
    JOIN groups AS g ON g.run_id = a.run_id AND g.trial = a.trial AND g.group_name = a.group_name
    WHERE g.background
    GROUP BY ALL
),
beside AS (
    SELECT b.*, s.step, s.group_name AS other_group, s.started_s, s.ended_s
    FROM background AS b
    JOIN steps AS s
        ON s.run_id = b.run_id AND s.trial = b.trial AND s.kind = 'load'
        AND s.started_s >= b.since_s AND s.ended_s <= b.until_s
    JOIN groups AS g ON g.run_id = s.run_id AND g.trial = s.trial AND g.group_name = s.group_name
    WHERE g.background IS DISTINCT FROM true
),
ticks AS (
    SELECT
        run_id, trial, step,
        max(at_s) AS last_tick_s
    FROM samples
    WHERE metric = 'cpu_seconds_total' AND scope IN ('node', 'sandbox') AND value IS NOT NULL
    GROUP BY ALL
),
readings AS (
    SELECT
        run_id, trial, step, subject AS sandbox, at_s, value,
        last_value(value) OVER (
            PARTITION BY run_id, trial, step, subject ORDER BY at_s
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS last_value
    FROM samples
    WHERE scope = 'sandbox' AND metric = 'cpu_seconds_total' AND value IS NOT NULL
),
used AS (
    SELECT
        run_id, trial, step, sandbox,
        count(*) AS samples,
        max(at_s) AS last_s,
        max(at_s) - min(at_s) AS seconds,
        arg_max(value, at_s) - arg_min(value, at_s) AS used_s,
        count(*) FILTER (value >= last_value) - 1 AS idle_samples,
        max(at_s) - min(at_s) FILTER (value >= last_value) AS idle_s
    FROM readings
    GROUP BY ALL
),
beheld AS (
    SELECT
        b.*, t.last_tick_s, u.samples, u.last_s, u.seconds, u.used_s, u.idle_samples, u.idle_s,
        u.used_s / nullif(u.seconds, 0) / (b.cpu_millicores / 1000) AS share,
        CASE
            WHEN b.run_id NOT IN (SELECT run_id FROM readings) THEN 'the platform samples no single sandbox'
            WHEN t.last_tick_s IS NULL THEN 'the step was not sampled'
            WHEN u.last_s = t.last_tick_s AND (u.seconds = 0 OR u.used_s < 0) THEN 'no two samples to compare'
        END AS reason
    FROM beside AS b
    LEFT JOIN ticks AS t ON t.run_id = b.run_id AND t.trial = b.trial AND t.step = b.step
    LEFT JOIN used AS u ON u.run_id = b.run_id AND u.trial = b.trial AND u.step = b.step AND u.sandbox = b.sandbox
)
SELECT
    run_id, trial, step, group_name, sandbox, cpu_millicores, other_group, started_s, ended_s, samples, used_s, seconds,
    share,
    CASE
        WHEN reason IS NOT NULL THEN NULL
        WHEN last_s IS NULL OR last_s < last_tick_s THEN 'ended'
        WHEN waits THEN CASE WHEN seconds >= 10 AND share < 0.02 THEN 'stopped' ELSE 'loading' END
        WHEN (seconds >= 1 AND share < 0.1) OR (idle_samples >= 2 AND idle_s >= 1) THEN 'stopped'
        ELSE 'loading'
    END AS state,
    reason
FROM beheld;
COMMENT ON VIEW neighbours IS 'Whether background sandboxes went on loading the node while others were measured; CPU in seconds. Grain: run_id, trial, step, sandbox.';
