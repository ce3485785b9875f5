/*
 * twtasks_internal.grab_tasks(ids, versions, incarnation, token, timeouts_ms, stuck, types, buckets, durable, places)
 *
 *		SUBMITTED -> PROCESSING, for those of the named tasks that still have
 *		the named version.  What comes back is the caller's to execute, once
 *		the call has committed.
 *
 * Parameters
 *		ids, versions	the triggers, in any order
 *		incarnation		of start_node()
 *		token			a number the caller uses for one grab only: tells a grab
 *						of unknown outcome (resolve_grab())
 *		timeouts_ms		for each: after so long the stuck rule applies
 *		stuck			for each: that rule
 *		types			for each: the type it must have, since a trigger may be
 *						forged; an empty array: any
 *		buckets			those it must be in one of; an empty array: any
 *		durable			false: when the stuck rule of all that were won is 'retry',
 *						the transaction is committed without waiting for the
 *						disk, whatever else it holds.  A crash of the server
 *						may then undo the grab: the task is grabbed again, with the
 *						same version and another token.  Name the token in
 *						finish_tasks(), and change nothing else in the transaction
 *
 *		places			for each: where sweep_tasks() saw the row, or NULL; saves a
 *						look into the index, a wrong one does no harm; an empty
 *						array: not known
 *
 *		versions, timeouts_ms, stuck and types may have one element that stands
 *		for all.
 *
 * Returns
 *		the tasks that were won, with version as finish_tasks() must name it, and
 *		place, which it may be told;
 *		a task that another has grabbed, locked, changed or deleted is just not
 *		there.
 *		Nothing, while twtasks.enabled is off, when the incarnation has ended, or
 *		when this is a copy of the database that was not adopted (adopt()).
 *
 *		A task that a limit of the whole cluster refused comes back too, with a
 *		version that is NULL: its type then is the name of that limit, and grabbed
 *		when to ask again; NULL: when offer_slots() says so
 *
 * Errors
 *		22023			the arrays differ in length, or a timeout is negative
 *		23502			a stuck rule is NULL
 *
 * Writes		twtasks.task, twtasks.slot_use
 * Locks		rows; waits for none
 * Example		SELECT * FROM twtasks_internal.grab_tasks(ARRAY[...]::uuid[], '{0}', 7, 1, '{60000}', '{error}');
 */
CREATE FUNCTION twtasks_internal.grab_tasks(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint,
	timeouts_ms bigint[],
	stuck twtasks.stuck_rule[],
	types text[] DEFAULT '{}',
	buckets text[] DEFAULT '{}',
	durable boolean DEFAULT true,
	places tid[] DEFAULT '{}',
	OUT id uuid,
	OUT version bigint,
	OUT type text,
	OUT sub_type text,
	OUT bucket text,
	OUT priority smallint,
	OUT tries integer,
	OUT grabbed timestamptz,
	OUT data jsonb,
	OUT payload bytea,
	OUT context jsonb,
	OUT place tid)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_grab_tasks';
