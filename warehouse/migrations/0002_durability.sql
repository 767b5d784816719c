-- The durability ledger, programs inside sandboxes, neighbours, suites, and published figures to compare with.

ALTER TABLE runs ADD COLUMN suite VARCHAR;
ALTER TABLE runs ADD COLUMN suite_run VARCHAR;
COMMENT ON COLUMN runs.suite IS 'name of the suite that it ran in; NULL for a run of its own';
COMMENT ON COLUMN runs.suite_run IS 'id that the runs of one pass through a suite share';

ALTER TABLE groups ADD COLUMN workload VARCHAR;
ALTER TABLE groups ADD COLUMN background BOOLEAN;
COMMENT ON COLUMN groups.workload IS 'name of the built-in program that each sandbox runs; NULL for a command of its own';
COMMENT ON COLUMN groups.background IS 'true: meant to load the node while other groups are measured';

ALTER TABLE attempts ADD COLUMN program VARCHAR;
ALTER TABLE attempts ADD COLUMN inside_s DOUBLE;
COMMENT ON COLUMN attempts.program IS 'of an exec: name of the program that was run';
COMMENT ON COLUMN attempts.inside_s IS 'of an exec: seconds that the program took by its own clock, inside the sandbox; NULL when it does not say';

CREATE TABLE snapshots (
    run_id VARCHAR NOT NULL,
    trial BIGINT NOT NULL,
    step BIGINT NOT NULL,
    group_name VARCHAR NOT NULL,
    sandbox VARCHAR NOT NULL,
    generation BIGINT NOT NULL,
    state VARCHAR NOT NULL,
    store VARCHAR,
    suspended_s DOUBLE,
    first_byte_s DOUBLE,
    manifest_s DOUBLE,
    durable_s DOUBLE,
    size_bytes BIGINT,
    uploaded_bytes BIGINT,
    objects BIGINT,
    checksum VARCHAR,
    tries BIGINT,
    restored_s DOUBLE,
    files_ok BOOLEAN,
    memory_ok BOOLEAN,
    error VARCHAR
);
COMMENT ON TABLE snapshots IS 'The durability ledger: one stored snapshot of a suspended sandbox. Grain: run_id, trial, sandbox, generation.';
COMMENT ON COLUMN snapshots.run_id IS 'run';
COMMENT ON COLUMN snapshots.trial IS 'trial';
COMMENT ON COLUMN snapshots.step IS 'the durability step that watched it';
COMMENT ON COLUMN snapshots.group_name IS 'group of the sandbox';
COMMENT ON COLUMN snapshots.sandbox IS 'name of the sandbox';
COMMENT ON COLUMN snapshots.generation IS 'number of the snapshot of its sandbox, from 1';
COMMENT ON COLUMN snapshots.state IS 'local_only (nothing sent yet), uploading, durable (manifest and every object verified), lost (whole in no place), stale (a newer one came first), partial (some objects, no manifest, no upload under way), stuck (not durable within the step''s time-out)';
COMMENT ON COLUMN snapshots.store IS 'where it goes: endpoint, bucket and prefix';
COMMENT ON COLUMN snapshots.suspended_s IS 'when the suspend had returned, in seconds on the run''s clock';
COMMENT ON COLUMN snapshots.first_byte_s IS 'when its first byte was sent, in seconds on the run''s clock';
COMMENT ON COLUMN snapshots.manifest_s IS 'when its manifest had been written, in seconds on the run''s clock';
COMMENT ON COLUMN snapshots.durable_s IS 'when a look at the store, apart from the uploader, had found manifest and objects whole; in seconds on the run''s clock';
COMMENT ON COLUMN snapshots.size_bytes IS 'bytes of the snapshot';
COMMENT ON COLUMN snapshots.uploaded_bytes IS 'bytes of it that the store had taken';
COMMENT ON COLUMN snapshots.objects IS 'objects that its manifest lists, the manifest included';
COMMENT ON COLUMN snapshots.checksum IS 'SHA-256 of its manifest, which holds those of all else';
COMMENT ON COLUMN snapshots.tries IS 'failed tries of its parts and manifest, plus 1';
COMMENT ON COLUMN snapshots.restored_s IS 'when it had been restored from the store alone; NULL when it was not in the sample';
COMMENT ON COLUMN snapshots.files_ok IS 'whether the nonce in its files was there after that';
COMMENT ON COLUMN snapshots.memory_ok IS 'whether the nonce in its program''s memory was there after that';
COMMENT ON COLUMN snapshots.error IS 'what went wrong last';

CREATE TABLE reference (
    source VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    conditions VARCHAR NOT NULL,
    test VARCHAR NOT NULL,
    condition VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE NOT NULL,
    unit VARCHAR NOT NULL
);
COMMENT ON TABLE reference IS 'Figures that others have published, to compare shapes with: other machines, other versions. Grain: source, test, condition, metric.';
COMMENT ON COLUMN reference.source IS 'short name of the publication';
COMMENT ON COLUMN reference.title IS 'what was published';
COMMENT ON COLUMN reference.conditions IS 'hardware, versions, method and vantage point, as far as they were published';
COMMENT ON COLUMN reference.test IS 'test of the publication';
COMMENT ON COLUMN reference.condition IS 'sandbox size and load under which the figure was taken';
COMMENT ON COLUMN reference.metric IS 'what was measured';
COMMENT ON COLUMN reference.value IS 'the value, in unit';
COMMENT ON COLUMN reference.unit IS 'unit of the value';

COMMENT ON COLUMN steps.kind IS 'cleanup, provision, load or durability';
COMMENT ON COLUMN inventory.moment IS 'found (before a clean-up), start (after it), after (when a trial''s steps had ended), end (after the last clean-up)';
COMMENT ON COLUMN inventory.trial IS 'trial; NULL for the run''s own end';
