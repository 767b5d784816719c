-- Grain: one attempt that counts in a latency: one that worked and was timed, or one that timed out.
-- A time-out is a censored value: its true time is longer than what was waited for, so it ranks
-- above every time that was measured (`rank_s` is infinite), and `bound_s` says how long it was waited for.
CREATE OR REPLACE VIEW latencies AS
SELECT
    *,
    CASE WHEN outcome = 'ok' THEN response_s ELSE 'infinity'::DOUBLE END AS rank_s,
    coalesce(response_s, censored_s) AS bound_s
FROM attempt_times
WHERE outcome = 'timed_out' OR (outcome = 'ok' AND response_s IS NOT NULL);
COMMENT ON VIEW latencies IS 'Attempts that worked or timed out, with the value by which they rank. Grain: run_id, attempt.';
