/*
 * scripts/edition puts this block into an update that drops functions of twtasks_internal,
 * which it lists here.  Objects of users that depend on them cannot stay, so the update
 * names these and changes nothing.  On tables of ours only their names tell indexes,
 * triggers and constraints of users from ours, which stand here too.
 */
DO $$
DECLARE
	dropped CONSTANT text[] := ARRAY[
@functions@];
	ours CONSTANT pg_catalog.name[] := '{@names@}';
	own CONSTANT pg_catalog.oid[] := ARRAY['twtasks', 'twtasks_internal']::pg_catalog.regnamespace[]::pg_catalog.oid[];
	used text;
BEGIN
	SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format('%s depends on %s', CASE
			WHEN c.relkind OPERATOR(pg_catalog.=) ANY ('{v,m}') THEN pg_catalog.pg_describe_object(c.tableoid, c.oid, 0)
			ELSE pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) END, f.function), '; ') INTO used
	FROM (SELECT pg_catalog.to_regprocedure(n.function) FROM pg_catalog.unnest(dropped) n(function)) f(function)
	JOIN pg_catalog.pg_depend d
		ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
		AND d.refobjid OPERATOR(pg_catalog.=) f.function AND d.deptype OPERATOR(pg_catalog.=) 'n'
	LEFT JOIN pg_catalog.pg_rewrite r ON r.tableoid OPERATOR(pg_catalog.=) d.classid AND r.oid OPERATOR(pg_catalog.=) d.objid
	LEFT JOIN pg_catalog.pg_trigger t ON t.tableoid OPERATOR(pg_catalog.=) d.classid AND t.oid OPERATOR(pg_catalog.=) d.objid
	LEFT JOIN pg_catalog.pg_attrdef a ON a.tableoid OPERATOR(pg_catalog.=) d.classid AND a.oid OPERATOR(pg_catalog.=) d.objid
	LEFT JOIN pg_catalog.pg_constraint k ON k.tableoid OPERATOR(pg_catalog.=) d.classid AND k.oid OPERATOR(pg_catalog.=) d.objid
	LEFT JOIN pg_catalog.pg_proc p ON p.tableoid OPERATOR(pg_catalog.=) d.classid AND p.oid OPERATOR(pg_catalog.=) d.objid
	LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) COALESCE(r.ev_class, t.tgrelid, a.adrelid, k.conrelid,
		CASE WHEN d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass THEN d.objid END)
	LEFT JOIN pg_catalog.pg_class i ON c.relkind OPERATOR(pg_catalog.=) ANY ('{i,I}')
		AND i.oid OPERATOR(pg_catalog.=) COALESCE(pg_catalog.pg_partition_root(c.oid)::pg_catalog.oid, c.oid)
	WHERE COALESCE(c.relnamespace, p.pronamespace) OPERATOR(pg_catalog.=) ANY (own) IS NOT TRUE
	   OR COALESCE(t.tgname, k.conname, i.relname) OPERATOR(pg_catalog.<>) ALL (ours);
	IF used IS NOT NULL THEN
		RAISE EXCEPTION 'objects of yours depend on functions that this update drops'
			USING ERRCODE = 'dependent_objects_still_exist',
				DETAIL = used,
				HINT = 'Functions of twtasks_internal change with each version. Drop these objects, update, and make them anew without these functions.';
	END IF;
END $$;

