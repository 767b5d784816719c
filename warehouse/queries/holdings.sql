-- What a run's rows hold: the operations that were attempted, and `programs`, `background`, `components`, `snapshots`.
SELECT DISTINCT operation FROM attempts WHERE run_id = $run_id
UNION ALL
SELECT 'programs' WHERE EXISTS (SELECT 1 FROM attempts WHERE run_id = $run_id AND program IS NOT NULL)
UNION ALL
SELECT 'background' WHERE EXISTS (SELECT 1 FROM groups WHERE run_id = $run_id AND background)
UNION ALL
SELECT 'components' WHERE EXISTS (SELECT 1 FROM samples WHERE run_id = $run_id AND scope = 'component')
UNION ALL
SELECT 'snapshots' WHERE EXISTS (SELECT 1 FROM steps WHERE run_id = $run_id AND kind = 'durability')
