-- Quantiles for intervals, which DuckDB does not have.
--   student_t_975       the t for a two-sided 95% interval with `freedom` degrees of freedom: from a table up to 30,
--                       above that by the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5), right to 5
--                       digits
--   upper_share_95      Clopper and Pearson's exact upper bound of a share, one-sided, with 95% confidence: the p at
--                       which k or fewer of n would happen 1 time in 20. 0 of 20 gives 1 - 0.05^(1/20) = 13.9%. Found
--                       by bisection, 50 halvings; NULL where n is 0
CREATE OR REPLACE MACRO student_t_975(freedom) AS
    CASE
        WHEN freedom BETWEEN 1 AND 30 THEN [
            12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
            2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
            2.07961, 2.07387, 2.06866, 2.06390, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227
        ][freedom]::DOUBLE
        WHEN freedom > 30 THEN 1.959964 + 2.372271 / freedom + 2.822499 / freedom ** 2 + 2.555850 / freedom ** 3
    END;
CREATE OR REPLACE MACRO binomial_at_most(k, n, p) AS
    list_sum([
        exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * ln(p) + (n - i) * ln(1 - p))
        for i in range(0, k + 1)
    ]);
CREATE OR REPLACE MACRO upper_share_95(k, n) AS
    CASE
        WHEN n > 0 AND k >= n THEN 1.0::DOUBLE
        WHEN n > 0 THEN list_reduce(
            [2.0::DOUBLE ** -halving for halving in range(1, 51)],
            lambda p, half: CASE WHEN binomial_at_most(k, n, p + half) > 0.05 THEN p + half ELSE p END,
            0.0::DOUBLE
        )
    END;
