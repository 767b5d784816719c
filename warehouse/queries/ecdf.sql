-- Distribution of response times by operation, program, how and sandbox size, thinned to $steps shares of
-- the attempts. A share that falls on a time-out has an infinite time. At least five attempts are needed.
WITH series AS (
    SELECT
        operation, program, how, cpu_millicores, memory_bytes,
        count(*) AS n, list_sort(list(rank_s)) AS ordered
    FROM latencies
    WHERE run_id = $run_id AND operation <> 'create'
    GROUP BY ALL
    HAVING count(*) >= 5
),
shares AS (SELECT unnest(range(1, $steps + 1)) / $steps::DOUBLE AS share)
SELECT series.* EXCLUDE (ordered), share, ordered[greatest(1, ceil(share * n)::BIGINT)] AS seconds
FROM series, shares
ORDER BY operation, program, how, cpu_millicores, memory_bytes, share
