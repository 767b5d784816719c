-- Snapshots of the first trial that watched any, with when its step ended, in seconds since the first suspend.
SELECT l.*, s.ended_s - l.first_suspended_s AS step_ended_after_s
FROM snapshot_timeline AS l
JOIN steps AS s ON s.run_id = l.run_id AND s.trial = l.trial AND s.step = l.step
WHERE l.run_id = $run_id AND l.suspended_after_s IS NOT NULL
QUALIFY dense_rank() OVER (ORDER BY l.trial, l.step) = 1
ORDER BY l.place
