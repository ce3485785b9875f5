/* As with twtasks itself: twtasks_owner owns all, and PUBLIC has no rights. */
DO $$
DECLARE
	member record;
BEGIN
	FOR member IN
		SELECT i.type AS kind, i.identity
		FROM pg_catalog.pg_depend d
		JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
		CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classid, d.objid, 0) i
		WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
		  AND e.extname OPERATOR(pg_catalog.=) 'twtasks_kinds'
		  AND d.deptype OPERATOR(pg_catalog.=) 'e'
		  AND i.type OPERATOR(pg_catalog.=) ANY (ARRAY['table', 'view', 'function'])
		  -- an upgrade changes nothing of what is here already
		  AND NOT EXISTS (SELECT FROM pg_catalog.pg_shdepend s
						  WHERE s.dbid OPERATOR(pg_catalog.=) (
								SELECT b.oid FROM pg_catalog.pg_database b
								WHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
							AND s.classid OPERATOR(pg_catalog.=) d.classid
							AND s.objid OPERATOR(pg_catalog.=) d.objid
							AND s.deptype OPERATOR(pg_catalog.=) 'o'
							AND s.refobjid OPERATOR(pg_catalog.=) 'twtasks_owner'::pg_catalog.regrole)
	LOOP
		EXECUTE pg_catalog.format('ALTER %s %s OWNER TO twtasks_owner', member.kind, member.identity);
		IF member.kind OPERATOR(pg_catalog.=) 'function' THEN
			EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', member.identity);
		END IF;
	END LOOP;
END $$;


GRANT EXECUTE ON FUNCTION twtasks.start TO twtasks_producer;
GRANT EXECUTE ON FUNCTION twtasks.configure_kind, twtasks.unset_kind_options, twtasks.on_outcome, twtasks.decide_by_hand, twtasks.close_anomalies,
	twtasks.forget_outcomes
	TO twtasks_operator;
/* Each kind names the roles that may. */
GRANT EXECUTE ON FUNCTION twtasks.read_to_do, twtasks.answer_to_do TO PUBLIC;
GRANT SELECT ON twtasks.kinds, twtasks.reactions, twtasks.outcomes, twtasks.attempts, twtasks.anomalies, twtasks.broken_outcomes
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
