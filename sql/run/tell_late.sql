/*
 * twtasks_internal.call_late(name, late)
 *
 *		Calls a function for late results as its owner, for at most
 *		twtasks.function_timeout.
 *
 * Errors
 *		42883			there is no such function (twtasks.late_result[]) returns void
 *		53400			the function took too long; all errors of the function
 */
CREATE FUNCTION twtasks_internal.call_late(name text, late twtasks.late_result[])
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_late';

/*
 * twtasks_internal.tell_late(ids, versions, results, messages, outcomes)
 *
 *		Calls the functions of other extensions that hear of late results: each
 *		function of this schema whose name begins with late_ and whose parameter is
 *		twtasks.late_result[].  Such a function comes with CREATE EXTENSION and goes
 *		with DROP EXTENSION.  finish_tasks() calls this for the results that it
 *		refuses, in its transaction, after it has finished the others.
 *
 *		A late result is a claim.  Everybody who may finish tasks can make it, for
 *		any id and version, also for a task that never was.  After a lost connection
 *		a sidecar sends its call again, so results that were taken the first time, and
 *		late ones, come here once more.
 *
 *		Results that say nothing about the work are left out: release, accepted and
 *		cancelled.  A function that fails leaves nothing behind, logs a warning, and
 *		stops neither the others nor the finish.
 *
 * Parameters
 *		as they were given to finish_tasks(); outcomes and messages may be NULL
 *
 * Writes		what the functions write
 */
CREATE FUNCTION twtasks_internal.tell_late(
	ids uuid[],
	versions bigint[],
	results text[],
	messages text[],
	outcomes jsonb[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	late CONSTANT twtasks.late_result[] := ARRAY(
		SELECT twtasks_internal.late_result(u.id, u.version, u.result, twtasks_internal.cut_message(u.message), u.outcome)
		FROM unnest(ids, versions, results, messages, outcomes)
			 WITH ORDINALITY u(id, version, result, message, outcome, place)
		WHERE u.result IN ('done', 'delete', 'retry', 'repeat', 'error')
		ORDER BY u.place);
	name text;
	told record;
BEGIN
	IF cardinality(late) = 0 THEN
		RETURN;
	END IF;
	FOR name IN SELECT b.name FROM twtasks_internal.brought_functions('late_', 'twtasks.late_result[]', 'void') b(name) LOOP
		told := twtasks_internal.try_call('twtasks_internal.call_late', name, late);
		IF told.state IS NOT NULL THEN
			RAISE WARNING 'function "%" for late results failed: %', name, told.error
				USING ERRCODE = told.state,
					DETAIL = format(twtasks_internal.plural(cardinality(late), '%s result is lost for it, of task %s, version %s.',
																'%s results are lost for it; the first is of task %s, version %s.'),
									cardinality(late), (late[1]).id, (late[1]).version);
		END IF;
	END LOOP;
END $$;
