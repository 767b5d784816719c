-- What of ours was there, by kind and moment: of each trial, and at the run's own end. What could not be counted is NULL.
SELECT
    i.trial, t.matrix, t.repetition, max(t.repetition) OVER () AS repetitions, i.kind, i.moment,
    CASE WHEN count(*) FILTER (i.count IS NULL) = 0 THEN sum(i.count)::BIGINT END AS count,
    min(i.reason) AS reason
FROM inventory AS i
LEFT JOIN trials AS t ON t.run_id = i.run_id AND t.trial = i.trial
WHERE i.run_id = $run_id
GROUP BY ALL
ORDER BY i.trial NULLS LAST, i.kind, i.moment
