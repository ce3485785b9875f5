/* The role twtasks_owner owns all objects of an extension, and PUBLIC has no rights. */
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
		  AND e.extname OPERATOR(pg_catalog.=) '@extension@'
		  AND d.deptype OPERATOR(pg_catalog.=) 'e'
		  AND i.type OPERATOR(pg_catalog.=) ANY
			  (ARRAY['table', 'view', 'type', 'function', 'procedure'])
		  -- array and row types, members since 17, follow their owner's owner
		  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend part
						  WHERE part.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
							AND d.classid OPERATOR(pg_catalog.=) part.classid
							AND part.objid OPERATOR(pg_catalog.=) d.objid
							AND part.deptype OPERATOR(pg_catalog.=) 'i')
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
		EXECUTE pg_catalog.format('ALTER %s %s OWNER TO twtasks_owner',
								  member.kind, member.identity);
		IF member.kind OPERATOR(pg_catalog.=) ANY (ARRAY['function', 'procedure']) THEN
			EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM PUBLIC',
									  member.kind, member.identity);
		END IF;
	END LOOP;
END $$;
