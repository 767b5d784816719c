-- The tables of the warehouse. Times ending in _s are seconds on the run's own monotonic clock, whose zero is
-- runs.started_at. What is missing is NULL, never zero. `warehouse/rows.py` has the same columns, as they are recorded.

CREATE TABLE runs (
    run_id VARCHAR NOT NULL,
    scenario VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    size VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    platform VARCHAR NOT NULL,
    simulated BOOLEAN NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    outcome VARCHAR,
    error VARCHAR,
    seed BIGINT NOT NULL,
    trials_planned BIGINT NOT NULL,
    attempts_planned BIGINT NOT NULL,
    vantage VARCHAR NOT NULL,
    scenario_sha256 VARCHAR NOT NULL,
    scenario_yaml VARCHAR NOT NULL,
    overrides JSON NOT NULL,
    target_spec JSON NOT NULL,
    checks_spec JSON NOT NULL,
    flow_run_id VARCHAR,
    sandgauge_version VARCHAR NOT NULL
);
COMMENT ON TABLE runs IS 'One run: one scenario on one target. Grain: run_id.';
COMMENT ON COLUMN runs.run_id IS 'name of the run; sorts by time';
COMMENT ON COLUMN runs.scenario IS 'name of the scenario';
COMMENT ON COLUMN runs.title IS 'the question that the scenario asks';
COMMENT ON COLUMN runs.size IS 'which of the scenario''s sizes ran';
COMMENT ON COLUMN runs.target IS 'name of the target';
COMMENT ON COLUMN runs.platform IS 'kind of system under test';
COMMENT ON COLUMN runs.simulated IS 'true: the figures come from a model and are no measurement';
COMMENT ON COLUMN runs.started_at IS 'wall clock at zero of the run''s own clock';
COMMENT ON COLUMN runs.ended_at IS 'wall clock when the last step had ended; NULL while it runs, or when it was killed';
COMMENT ON COLUMN runs.outcome IS 'finished, cancelled or failed; NULL while it runs, or when it was killed';
COMMENT ON COLUMN runs.error IS 'why it did not finish';
COMMENT ON COLUMN runs.seed IS 'seed from which every trial''s seed is derived';
COMMENT ON COLUMN runs.trials_planned IS 'trials that the plan had';
COMMENT ON COLUMN runs.attempts_planned IS 'attempts that the plan had at most';
COMMENT ON COLUMN runs.vantage IS 'where the load came from: host and process';
COMMENT ON COLUMN runs.scenario_sha256 IS 'SHA-256 of the scenario file''s bytes';
COMMENT ON COLUMN runs.scenario_yaml IS 'the scenario file as it was';
COMMENT ON COLUMN runs.overrides IS 'values that were set beside the file, by path';
COMMENT ON COLUMN runs.target_spec IS 'the target as it was validated';
COMMENT ON COLUMN runs.checks_spec IS 'the scenario''s checks as they were validated';
COMMENT ON COLUMN runs.flow_run_id IS 'id of the flow run in Prefect';
COMMENT ON COLUMN runs.sandgauge_version IS 'version of Sandgauge';

CREATE TABLE trials (
    run_id VARCHAR NOT NULL,
    trial BIGINT NOT NULL,
    repetition BIGINT NOT NULL,
    seed BIGINT NOT NULL,
    matrix JSON NOT NULL,
    started_s DOUBLE,
    ended_s DOUBLE,
    outcome VARCHAR,
    error VARCHAR
);
COMMENT ON TABLE trials IS 'One combination of the matrix in one repetition. Grain: run_id, trial.';
COMMENT ON COLUMN trials.run_id IS 'run';
COMMENT ON COLUMN trials.trial IS 'number of the trial, from 0';
COMMENT ON COLUMN trials.repetition IS 'number of the repetition, from 1';
COMMENT ON COLUMN trials.seed IS 'seed of the trial''s schedules';
COMMENT ON COLUMN trials.matrix IS 'the matrix values, by key';
COMMENT ON COLUMN trials.started_s IS 'start, in seconds on the run''s clock';
COMMENT ON COLUMN trials.ended_s IS 'end, in seconds on the run''s clock';
COMMENT ON COLUMN trials.outcome IS 'finished, cancelled or failed; NULL when the run was killed';
COMMENT ON COLUMN trials.error IS 'why it did not finish';

CREATE TABLE groups (
    run_id VARCHAR NOT NULL,
    trial BIGINT NOT NULL,
    group_name VARCHAR NOT NULL,
    count BIGINT NOT NULL,
    cpu_millicores BIGINT NOT NULL,
    memory_bytes BIGINT NOT NULL,
    command JSON NOT NULL
);
COMMENT ON TABLE groups IS 'The sandboxes of a trial that share a spec. Grain: run_id, trial, group_name.';
COMMENT ON COLUMN groups.run_id IS 'run';
COMMENT ON COLUMN groups.trial IS 'trial';
COMMENT ON COLUMN groups.group_name IS 'name of the group';
COMMENT ON COLUMN groups.count IS 'sandboxes that the group has at most';
COMMENT ON COLUMN groups.cpu_millicores IS 'CPU limit of each sandbox, in thousandths of a core';
COMMENT ON COLUMN groups.memory_bytes IS 'memory limit of each sandbox, in bytes';
COMMENT ON COLUMN groups.command IS 'the program that each sandbox runs, and its arguments';

CREATE TABLE steps (
    run_id VARCHAR NOT NULL,
    trial BIGINT NOT NULL,
    step BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    group_name VARCHAR,
    pacing VARCHAR,
    in_flight BIGINT,
    rate_per_s DOUBLE,
    schedule_seed BIGINT,
    started_s DOUBLE,
    ended_s DOUBLE,
    outcome VARCHAR,
    error VARCHAR
);
COMMENT ON TABLE steps IS 'One step of a trial. Grain: run_id, trial, step.';
COMMENT ON COLUMN steps.run_id IS 'run';
COMMENT ON COLUMN steps.trial IS 'trial';
COMMENT ON COLUMN steps.step IS 'number of the step in the scenario, from 0';
COMMENT ON COLUMN steps.kind IS 'cleanup, provision or load';
COMMENT ON COLUMN steps.label IS 'what the step does, for people';
COMMENT ON COLUMN steps.group_name IS 'the group that a load leads';
COMMENT ON COLUMN steps.pacing IS 'the pacing, for people';
COMMENT ON COLUMN steps.in_flight IS 'most attempts in flight of a closed loop; size of a burst; NULL for an open loop';
COMMENT ON COLUMN steps.rate_per_s IS 'arrivals per second of an open loop';
COMMENT ON COLUMN steps.schedule_seed IS 'seed of the schedule';
COMMENT ON COLUMN steps.started_s IS 'start, in seconds on the run''s clock';
COMMENT ON COLUMN steps.ended_s IS 'end, in seconds on the run''s clock';
COMMENT ON COLUMN steps.outcome IS 'finished, refused (until: refused ended it), cancelled or failed; NULL when the run was killed';
COMMENT ON COLUMN steps.error IS 'why it did not finish';

CREATE TABLE attempts (
    run_id VARCHAR NOT NULL,
    trial BIGINT NOT NULL,
    step BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    round BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    group_name VARCHAR NOT NULL,
    sandbox VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    try_number BIGINT NOT NULL,
    running_before BIGINT NOT NULL,
    in_flight BIGINT,
    intended_s DOUBLE NOT NULL,
    started_s DOUBLE,
    acknowledged_s DOUBLE,
    ready_s DOUBLE,
    ended_s DOUBLE,
    timeout_s DOUBLE NOT NULL,
    outcome VARCHAR NOT NULL,
    how VARCHAR,
    resource VARCHAR,
    error VARCHAR,
    detail JSON
);
COMMENT ON TABLE attempts IS 'One try of an operation on one sandbox, whatever came of it. Grain: run_id, attempt.';
COMMENT ON COLUMN attempts.run_id IS 'run';
COMMENT ON COLUMN attempts.trial IS 'trial';
COMMENT ON COLUMN attempts.step IS 'step';
COMMENT ON COLUMN attempts.attempt IS 'number of the attempt in the run, from 0, in order of starting';
COMMENT ON COLUMN attempts.round IS 'round of the load, from 0';
COMMENT ON COLUMN attempts.batch IS 'batch of the load, from 0, counted over rounds';
COMMENT ON COLUMN attempts.group_name IS 'group of the sandbox';
COMMENT ON COLUMN attempts.sandbox IS 'name of the sandbox';
COMMENT ON COLUMN attempts.operation IS 'create, resume, suspend, wake, exec or delete';
COMMENT ON COLUMN attempts.try_number IS '1 for a first try; retries are attempts of their own';
COMMENT ON COLUMN attempts.running_before IS 'sandboxes that ran when it started';
COMMENT ON COLUMN attempts.in_flight IS 'attempts in flight when it started, itself included; NULL when it never started';
COMMENT ON COLUMN attempts.intended_s IS 'when it was due, in seconds on the run''s clock';
COMMENT ON COLUMN attempts.started_s IS 'when the call was made; NULL when it never was';
COMMENT ON COLUMN attempts.acknowledged_s IS 'when the system had accepted it; NULL when it never did';
COMMENT ON COLUMN attempts.ready_s IS 'when it had its effect; NULL when it never had';
COMMENT ON COLUMN attempts.ended_s IS 'when the attempt was over, well or not';
COMMENT ON COLUMN attempts.timeout_s IS 'bound on the attempt, in seconds';
COMMENT ON COLUMN attempts.outcome IS 'ok, refused, failed, timed_out, unknown, unsupported, cancelled, or skipped (not called, since an earlier attempt on the sandbox had not worked)';
COMMENT ON COLUMN attempts.how IS 'of a resume or wake: booted or restored';
COMMENT ON COLUMN attempts.resource IS 'of a refusal: the booking that was full';
COMMENT ON COLUMN attempts.error IS 'the platform''s message';
COMMENT ON COLUMN attempts.detail IS 'what else the platform said, such as an exit code';

CREATE TABLE samples (
    run_id VARCHAR NOT NULL,
    trial BIGINT,
    step BIGINT,
    at_s DOUBLE NOT NULL,
    scope VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE,
    unit VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    reason VARCHAR
);
COMMENT ON TABLE samples IS 'One sampled value. Grain: run_id, at_s, scope, subject, metric.';
COMMENT ON COLUMN samples.run_id IS 'run';
COMMENT ON COLUMN samples.trial IS 'trial';
COMMENT ON COLUMN samples.step IS 'step during which it was taken';
COMMENT ON COLUMN samples.at_s IS 'when it was asked for, in seconds on the run''s clock';
COMMENT ON COLUMN samples.scope IS 'node, sandbox, component or generator';
COMMENT ON COLUMN samples.subject IS 'name of the node, sandbox, component or generator';
COMMENT ON COLUMN samples.metric IS 'what was sampled; a name that ends in _total counts up';
COMMENT ON COLUMN samples.value IS 'the value, in unit; NULL when it could not be read';
COMMENT ON COLUMN samples.unit IS 'unit of the value';
COMMENT ON COLUMN samples.source IS 'where it was read';
COMMENT ON COLUMN samples.reason IS 'why there is no value';

CREATE TABLE inventory (
    run_id VARCHAR NOT NULL,
    trial BIGINT,
    at_s DOUBLE NOT NULL,
    moment VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    count BIGINT,
    names JSON NOT NULL,
    reason VARCHAR
);
COMMENT ON TABLE inventory IS 'What of ours existed at a moment. Grain: run_id, trial, moment, kind.';
COMMENT ON COLUMN inventory.run_id IS 'run';
COMMENT ON COLUMN inventory.trial IS 'trial; NULL for the run''s own end';
COMMENT ON COLUMN inventory.at_s IS 'when, in seconds on the run''s clock';
COMMENT ON COLUMN inventory.moment IS 'found (before a clean-up), start (after it), end (after the last clean-up)';
COMMENT ON COLUMN inventory.kind IS 'sandboxes, processes, cgroups, mounts and so on';
COMMENT ON COLUMN inventory.count IS 'how many; NULL when it could not be counted';
COMMENT ON COLUMN inventory.names IS 'their names, the first hundred';
COMMENT ON COLUMN inventory.reason IS 'why there is no count';

CREATE TABLE facts (
    run_id VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    value VARCHAR,
    unit VARCHAR,
    source VARCHAR,
    reason VARCHAR
);
COMMENT ON TABLE facts IS 'What was true throughout a run. Grain: run_id, key.';
COMMENT ON COLUMN facts.run_id IS 'run';
COMMENT ON COLUMN facts.key IS 'what: node.cpu_count, runsc.version and so on';
COMMENT ON COLUMN facts.value IS 'the value; NULL when it could not be found out';
COMMENT ON COLUMN facts.unit IS 'its unit, where it has one';
COMMENT ON COLUMN facts.source IS 'where it comes from';
COMMENT ON COLUMN facts.reason IS 'why there is no value';

CREATE TABLE checks (
    run_id VARCHAR NOT NULL,
    check_number BIGINT NOT NULL,
    of_figure VARCHAR NOT NULL,
    where_json JSON NOT NULL,
    bound VARCHAR NOT NULL,
    observed DOUBLE,
    n BIGINT NOT NULL,
    answer VARCHAR NOT NULL,
    reason VARCHAR
);
COMMENT ON TABLE checks IS 'The answer to one check of a scenario. Grain: run_id, check_number.';
COMMENT ON COLUMN checks.run_id IS 'run';
COMMENT ON COLUMN checks.check_number IS 'number of the check in the scenario, from 0';
COMMENT ON COLUMN checks.of_figure IS 'the figure, such as resume.p50';
COMMENT ON COLUMN checks.where_json IS 'what it was narrowed to';
COMMENT ON COLUMN checks.bound IS 'the bound, for people';
COMMENT ON COLUMN checks.observed IS 'the figure over all matching rows, in seconds or as a count; NULL when there is not enough evidence';
COMMENT ON COLUMN checks.n IS 'attempts that the figure rests on';
COMMENT ON COLUMN checks.answer IS 'pass, fail or insufficient';
COMMENT ON COLUMN checks.reason IS 'why the evidence is insufficient';

CREATE TABLE landed_segments (
    run_id VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    bytes BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    broken_lines BIGINT NOT NULL,
    landed_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE landed_segments IS 'Which segment has been landed how far. Grain: run_id, table_name.';
COMMENT ON COLUMN landed_segments.run_id IS 'run';
COMMENT ON COLUMN landed_segments.table_name IS 'table';
COMMENT ON COLUMN landed_segments.bytes IS 'bytes of the segment that were landed';
COMMENT ON COLUMN landed_segments.rows IS 'rows that came of them';
COMMENT ON COLUMN landed_segments.broken_lines IS 'lines that could not be read and were left out';
COMMENT ON COLUMN landed_segments.landed_at IS 'when';
