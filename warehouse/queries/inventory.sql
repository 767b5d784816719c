-- What of ours was there, by kind and moment, summed over trials. A moment at which it could not be counted is NULL.
SELECT
    kind,
    CASE WHEN count(*) FILTER (moment = 'found' AND count IS NULL) = 0 THEN sum(count) FILTER (moment = 'found') END
        AS found,
    CASE WHEN count(*) FILTER (moment = 'start' AND count IS NULL) = 0 THEN sum(count) FILTER (moment = 'start') END
        AS at_start,
    CASE WHEN count(*) FILTER (moment = 'end' AND count IS NULL) = 0 THEN sum(count) FILTER (moment = 'end') END
        AS at_end
FROM inventory
WHERE run_id = $run_id
GROUP BY kind
ORDER BY kind
