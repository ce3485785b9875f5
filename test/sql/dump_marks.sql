--
-- A dump holds the tasks: every table and sequence of the extension is marked
-- for it, except the state machine, which CREATE EXTENSION brings, and who
-- holds slots of limits, was refused, and what was counted, which is only true
-- while it runs.
--
SELECT c.oid::regclass AS relation, c.relkind AS kind,
	   c.oid = ANY (e.extconfig) AS marked,
	   (SELECT e.extcondition[n] FROM generate_subscripts(e.extconfig, 1) n
		WHERE e.extconfig[n] = c.oid) AS condition
FROM pg_class c
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
WHERE e.extname = 'twtasks' AND c.relkind IN ('r', 'p', 'S')
ORDER BY c.relname;

-- Sequences behind identity columns are members too, or would not be dumped.
SELECT c.oid::regclass AS forgotten
FROM pg_class c
WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ('r', 'p', 'S', 'v')
  AND NOT c.relispartition
  AND NOT EXISTS (SELECT FROM pg_depend d
				  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
					AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e')
ORDER BY 1;

-- Partitions do not belong to the extension: a dump holds them as they are, with what is in them.
SELECT twtasks_internal.make_partitions(1) >= 0 AS made;
SELECT count(*) > 0 AS some, bool_or(EXISTS (
	SELECT FROM pg_depend d
	WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
	  AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e')) AS any_is_member
FROM pg_class c
WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relispartition;
