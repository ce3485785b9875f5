/*
 * twtasks_internal.grab_tasks(ids, versions, incarnation, token, timeouts_ms, stuck, types, buckets, durable, places)
 *
 *		SUBMITTED -> PROCESSING, for the named tasks that still have the named
 *		version.  The caller executes the tasks returned, once the call has
 *		committed.
 *
 * Parameters
 *		ids, versions	the triggers, in any order
 *		incarnation		of start_node()
 *		token			a number that the caller uses for one grab only; it names the
 *						grab for resolve_grab()
 *		timeouts_ms		time after which the stuck rule applies, for each task
 *		stuck			that rule, for each task
 *		types			type that each task must have, since a trigger may be forged;
 *						an empty array: any
 *		buckets			a task must be in one of them; an empty array: any
 *		durable			false: do not wait for the disk if the stuck rule of all tasks
 *						won is 'retry', whatever else the transaction holds.  A crash
 *						of the server may then undo the grab: the task is grabbed
 *						again, with the same version and another token.  Name the
 *						token in finish_tasks(), and change nothing else in the
 *						transaction
 *		places			location of each row as sweep_tasks() returned it, or NULL; a
 *						wrong one does no harm; an empty array: not known
 *
 *		versions, timeouts_ms, stuck and types may have one element that stands
 *		for all.
 *
 * Returns
 *		version, place	of the tasks won, as finish_tasks() takes them
 *		runnable		since when the task could run: when it was added, was due or was resumed;
 *						NULL: refused
 *		no row for a task that another session has grabbed, locked, changed or
 *		deleted
 *		no row at all while twtasks.enabled is off, if the incarnation has ended, or
 *		if this database is a copy and not adopted
 *
 *		A task that a cluster-wide limit refused comes back with a NULL version.
 *		Its type is the name of that limit, and tries says in how many milliseconds
 *		to ask again; NULL: when offer_slots() tells.  grabbed is that time, for
 *		callers whose clock cannot be set
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
	OUT key text,
	OUT place tid,
	OUT runnable timestamptz)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_grab_tasks';
