-- How every percentile is published. It is a nearest rank: the smallest value with at least a share p of the n values
-- at or below it (DuckDB's quantile_disc), over the attempts that worked or timed out; a time-out ranks as infinite.
--   percentile_s         the figure in seconds. Where the rank falls on a time-out, all that is known is that the time
--                        is longer than what was waited for (waited_s, the shortest wait): that is given, and
--   percentile_censored  is true, so that it reads "> 15 s".
-- Withheld (NULL) where fewer values than `least` are there (5 for the p50, 20 for the p95, 100 for the p99), or where
-- nothing worked; withheld_reason says which and why.
-- Around a median, two order statistics hold the true one with 95% confidence: the value of rank median_low_rank from
-- below and the one from above (ranks (n ± 1.96 √n) / 2, rounded: the normal approximation of the binomial; David and
-- Nagaraja, Order Statistics, 7.1). They need n = 6; an end that falls on a time-out is NULL.
CREATE OR REPLACE MACRO median_low_rank(n) AS greatest(1, floor((n + 1 - 1.96 * sqrt(n)) / 2))::BIGINT;
CREATE OR REPLACE MACRO median_low(ordered, n) AS
    CASE WHEN n >= 6 AND NOT isinf(ordered[median_low_rank(n)]) THEN ordered[median_low_rank(n)] END;
CREATE OR REPLACE MACRO median_high(ordered, n) AS
    CASE WHEN n >= 6 AND NOT isinf(ordered[n + 1 - median_low_rank(n)]) THEN ordered[n + 1 - median_low_rank(n)] END;
CREATE OR REPLACE MACRO percentile_s(rank_s, waited_s, n, ok, least) AS
    CASE WHEN n >= least AND ok > 0 THEN CASE WHEN isinf(rank_s) THEN waited_s ELSE rank_s END END;
CREATE OR REPLACE MACRO percentile_censored(rank_s, n, ok, least) AS
    coalesce(n >= least AND ok > 0 AND isinf(rank_s), false);
CREATE OR REPLACE MACRO withheld_reason(n, ok) AS
    CASE
        WHEN ok = 0 THEN 'none of ' || n || ' worked'
        WHEN n < 5 THEN 'n = ' || n || ': p50 needs 5, p95 20, p99 100'
        WHEN n < 20 THEN 'n = ' || n || ': p95 needs 20, p99 100'
        WHEN n < 100 THEN 'n = ' || n || ': p99 needs 100'
    END;
