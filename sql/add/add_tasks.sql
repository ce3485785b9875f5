/*
 * twtasks.add_tasks(tasks twtasks.new_task[])
 *
 *		Stores many tasks in one statement.
 *
 * Parameters
 *		tasks		rows with the parameters of add_task()
 *
 * Returns
 *		one row per task, in the order given, as add_task() does
 *
 * Errors
 *		as add_task(), with the number of the row in the context; nothing is
 *		stored then
 *
 * Writes		twtasks.task, twtasks.unique_key
 * Locks		row locks only
 * Wakes		after commit one sidecar per bucket; above 1,024 tasks in one
 *				transaction a sweep of the bucket finds them instead
 */
CREATE FUNCTION twtasks.add_tasks(tasks twtasks.new_task[])
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_tasks';

/*
 * twtasks_internal.add_given_tasks(tasks twtasks.new_task[])
 *
 *		Adds tasks that a caller or a message gave, in the caller's name.  Unlike our
 *		own code in add_tasks(), it adds no tasks of types that belong to extensions.
 *
 * Returns, errors, writes, locks, wakes: as add_tasks()
 */
CREATE FUNCTION twtasks_internal.add_given_tasks(tasks twtasks.new_task[])
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_given_tasks';

/*
 * twtasks.add_tasks(type text, data jsonb[], priority integer, run_after timestamptz, bucket text, expires timestamptz, context jsonb)
 *
 *		Stores a task of one type for each element of data.
 *
 * Parameters
 *		type		of all
 *		data		what each handler gets; an element may be NULL.  An empty array
 *					adds nothing, and nothing else is checked
 *		priority	of all; this and what follows is as in add_task()
 *		run_after
 *		bucket
 *		expires
 *		context
 *
 * Returns
 *		one row per task, in the order given, as add_task() does
 *
 * Errors
 *		22004		data is NULL; other errors as add_task().  Nothing is stored then
 *
 * Writes		twtasks.task
 * Locks		row locks only
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT count(*) FROM twtasks.add_tasks('SEND_EMAIL', ARRAY['{"to": 7}', '{"to": 8}']::jsonb[]);
 */
CREATE FUNCTION twtasks.add_tasks(
	type text,
	data jsonb[],
	priority integer DEFAULT NULL,
	run_after timestamptz DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires timestamptz DEFAULT NULL,
	context jsonb DEFAULT NULL)
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_tasks_of_type';

/*
 * twtasks.add_tasks(tasks jsonb)
 *
 *		Stores many tasks given as a JSON array of objects.
 *
 * Parameters
 *		tasks		[{"type": "SEND_EMAIL", "data": {...}, "key": "..."}, ...];
 *					the names are the parameters of add_task(), and key_rule of
 *					put_task()
 *
 * Returns
 *		one row per task, in the order given, as add_task() does
 *
 * Errors
 *		22023		not an array of objects, or an object has another name in it;
 *					otherwise as add_task()
 *
 * Writes		twtasks.task, twtasks.unique_key
 * Locks		row locks only
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT count(*) FROM twtasks.add_tasks('[{"type": "A"}, {"type": "B"}]'::jsonb);
 */
CREATE FUNCTION twtasks.add_tasks(tasks jsonb)
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_tasks_json';
