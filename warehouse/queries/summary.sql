-- One row a trial, group, operation, program and how: what came of the attempts, beside the latency of
-- those that count in one.
SELECT
    t.matrix, t.repetition, max(t.repetition) OVER () AS repetitions, o.group_name, o.operation,
    o.program, o.how,
    o.attempts - o.skipped - o.cancelled AS n, o.ok, o.refused, o.failed, o.timed_out,
    o.skipped + o.cancelled AS not_made,
    l.p50_s, l.p50_censored, l.p95_s, l.p95_censored, l.min_s, l.max_s, l.max_censored, l.withheld_reason
FROM outcomes AS o
JOIN trials AS t ON t.run_id = o.run_id AND t.trial = o.trial
LEFT JOIN latency AS l
    ON l.run_id = o.run_id AND l.trial = o.trial AND l.group_name = o.group_name AND l.operation = o.operation
    AND l.program IS NOT DISTINCT FROM o.program AND l.how IS NOT DISTINCT FROM o.how
WHERE o.run_id = $run_id
ORDER BY
    o.trial, list_position(['create', 'resume', 'wake', 'exec', 'suspend', 'delete'], o.operation),
    o.group_name, o.program, o.how
