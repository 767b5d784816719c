-- What of ours was there, by trial and kind, at each moment; the row without a trial is the run's own end. NULL where
-- it was not counted, or could not be.
WITH counted AS (
    SELECT trial, kind, moment, CASE WHEN count(count) = count(*) THEN sum(count)::BIGINT END AS count
    FROM inventory
    WHERE run_id = $run_id
    GROUP BY ALL
),
wide AS (
    SELECT
        trial, kind,
        max(count) FILTER (moment = 'found') AS found,
        max(count) FILTER (moment = 'start') AS at_start,
        max(count) FILTER (moment = 'after') AS after_steps,
        max(count) FILTER (moment = 'end') AS at_end,
        list(moment) AS moments
    FROM counted
    GROUP BY ALL
)
SELECT w.*, t.matrix, t.repetition, max(t.repetition) OVER () AS repetitions
FROM wide AS w
LEFT JOIN trials AS t ON t.run_id = $run_id AND t.trial = w.trial
ORDER BY w.trial NULLS LAST, w.kind
