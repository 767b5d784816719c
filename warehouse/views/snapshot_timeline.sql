-- Grain: one snapshot of the durability ledger. Seconds since the first suspend of its step had returned: when it was
-- suspended, when its first byte was sent, when its manifest was written, when it was found durable; NULL for what
-- never happened. Sizes in bytes. `place` counts snapshots of a step in the order of their first bytes, from 1.
CREATE OR REPLACE VIEW snapshot_timeline AS
SELECT
    run_id, trial, step, group_name, sandbox, generation, state,
    suspended_s - first_value(suspended_s IGNORE NULLS) OVER of_step AS suspended_after_s,
    first_byte_s - first_value(suspended_s IGNORE NULLS) OVER of_step AS first_byte_after_s,
    manifest_s - first_value(suspended_s IGNORE NULLS) OVER of_step AS manifest_after_s,
    durable_s - first_value(suspended_s IGNORE NULLS) OVER of_step AS durable_after_s,
    first_value(suspended_s IGNORE NULLS) OVER of_step AS first_suspended_s,
    size_bytes, uploaded_bytes, objects, tries, restored_s, files_ok, memory_ok, error,
    row_number() OVER (
        PARTITION BY run_id, trial, step ORDER BY first_byte_s NULLS LAST, suspended_s, sandbox, generation
    ) AS place
FROM snapshots
WINDOW of_step AS (
    PARTITION BY run_id, trial, step ORDER BY suspended_s NULLS LAST
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
);
COMMENT ON VIEW snapshot_timeline IS 'What happened when to each snapshot, in seconds since the first suspend. Grain: run_id, trial, sandbox, generation.';
