CREATE TABLE twtasks.duty (
	name			text COLLATE "C" NOT NULL,	-- Its function
	called			timestamptz NOT NULL,		-- Time of a call, at most ten seconds before the last one
	failed_since	timestamptz,				-- Time of the first of the calls that failed in a row; NULL: the last one succeeded
	problem			text,						-- The reason why the last call failed; NULL: it succeeded
	CONSTRAINT duty_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.duty IS 'Duties that other extensions bring, duties of the history, and whether they are done';

/*
 * twtasks_internal.call_duty(name)
 *
 *		Calls a duty as its owner, for at most twtasks.function_timeout.
 *
 * Returns
 *		the duty's answer
 *
 * Errors
 *		42883			there is no such function without parameters that returns bigint
 *		53400			the function took too long; all errors of the function
 */
CREATE FUNCTION twtasks_internal.call_duty(name text)
RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_duty';

/*
 * twtasks_internal.note_duty(name, problem)
 *
 *		Notes that a duty was called, for twtasks.warnings.  Does nothing while another
 *		open transaction has noted the same duty: its backend may stand still, and the
 *		duties of all nodes would wait for it.
 *
 * Parameters
 *		problem			the reason why the call failed; NULL: it succeeded
 *
 * Writes		twtasks.duty
 * Locks		the duty's lock, if it is free; a row
 */
CREATE FUNCTION twtasks_internal.note_duty(name text, problem text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	now CONSTANT timestamptz := clock_timestamp();
	fault CONSTANT text := twtasks_internal.cut_message(problem);
BEGIN
	IF EXISTS (SELECT FROM twtasks.duty d
			   WHERE d.name = note_duty.name AND d.called >= now - interval '10 seconds'
				 AND d.problem IS NOT DISTINCT FROM fault)
		OR NOT twtasks_internal.try_lock(hashtextextended('twtasks.duty/' || name, 0)) THEN
		RETURN;
	END IF;
	INSERT INTO twtasks.duty AS d (name, called, failed_since, problem)
	VALUES (note_duty.name, now, CASE WHEN fault IS NOT NULL THEN now END, fault)
	ON CONFLICT ON CONSTRAINT duty_pkey DO UPDATE SET
		called = EXCLUDED.called, problem = EXCLUDED.problem,
		failed_since = CASE WHEN EXCLUDED.problem IS NOT NULL THEN coalesce(d.failed_since, EXCLUDED.failed_since) END;
END $$;

/*
 * twtasks_internal.run_duties()
 *
 *		Calls the duties that other extensions bring: each function of this schema
 *		whose name begins with duty_.  A duty has no parameters.  It returns the
 *		milliseconds until it wants the next call, 0 for at once.  A duty comes with
 *		CREATE EXTENSION and goes with DROP EXTENSION.
 *
 *		The leader calls the function at least once a minute.  After ask_duties() any
 *		node calls it at once, so two calls may run at the same time.  A duty that
 *		fails logs a warning, does not stop others, and is called again in 3 s;
 *		twtasks.warnings shows it.
 *
 * Returns
 *		next_ms			milliseconds until the next call; NULL: there is no duty, or this
 *						database is a copy and not adopted
 *
 * Writes		twtasks.duty, and what the duties write
 */
CREATE FUNCTION twtasks_internal.run_duties(OUT next_ms bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	called record;
BEGIN
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	FOR name IN
		SELECT 'twtasks_internal.' || quote_ident(p.proname) FROM pg_proc p
		WHERE p.proname >= 'duty_' AND p.proname < 'duty`' AND p.pronamespace = 'twtasks_internal'::regnamespace
		ORDER BY p.proname
	LOOP
		called := twtasks_internal.try_call('twtasks_internal.call_duty', name);
		PERFORM twtasks_internal.note_duty(name, called.error);
		IF called.state IS NULL THEN
			next_ms := least(next_ms, CASE WHEN called.result::bigint < 0 THEN 0 ELSE called.result::bigint END);
		ELSE
			RAISE WARNING 'duty "%" failed: %', name, called.error USING ERRCODE = called.state;
			next_ms := least(next_ms, 3000);
		END IF;
	END LOOP;
END $$;

/*
 * twtasks_internal.ask_duties(bucket)
 *
 *		Asks a sidecar of the bucket for run_duties(), after the commit of the current
 *		transaction.  The question is a hint, and may be lost.
 *
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.ask_duties(bucket text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A trigger whose time has passed names no task: see duties_due_at() of the sidecar.
	PERFORM twtasks_internal.queue_trigger('00000000-0000-0000-0000-000000000000', 0, bucket,
		'DUTY', 0::smallint, 0, '2000-01-01 00:00:01+00');
END $$;
