-- What of ours was there at the start of trials or at the end of the run, and what was not counted.
SELECT
    count(count) AS n,
    coalesce(sum(count), 0)::BIGINT AS left_over,
    string_agg(count || ' ' || replace(kind, '_', ' ') || coalesce(' at the start of trial ' || trial, ' at the end'), ', '
        ORDER BY trial NULLS LAST, kind) FILTER (count > 0) AS things,
    count(*) FILTER (count IS NULL) AS uncounted,
    count(DISTINCT trial) FILTER (moment = 'start') AS starts,
    count(*) FILTER (moment = 'end') AS ends,
    (SELECT count(*) FROM trials WHERE trials.run_id = $run_id) AS trials
FROM inventory
WHERE run_id = $run_id AND moment IN ('start', 'end')
