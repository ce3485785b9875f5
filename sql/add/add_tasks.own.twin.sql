/*
 * A caller cannot prove here that it is an extension, so the code of extensions calls
 * these functions, which nobody else may call, in place of add_task() and add_tasks().
 */

/*
 * twtasks_internal.add_own_task(type, data, key, run_after, expires, context)
 *
 *		Does what add_task() does, for an extension: also for the types that the extension
 *		keeps for itself.
 */
CREATE FUNCTION twtasks_internal.add_own_task(type text, data jsonb, key text, run_after timestamptz, expires timestamptz, context jsonb)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	role CONSTANT text := pg_get_userbyid(twtasks_internal.caller());
	task CONSTANT twtasks.new_task := twtasks.new_task(type, data, NULL, key, NULL, NULL, run_after, NULL, expires, context);
BEGIN
	RETURN twtasks_internal.store_task(twtasks_internal.checked(task, 'kept', role, true), role);
END $$;

/*
 * twtasks_internal.add_own_tasks(tasks)
 *
 *		The same for add_tasks().
 */
CREATE FUNCTION twtasks_internal.add_own_tasks(tasks twtasks.new_task[])
RETURNS SETOF twtasks.added_task
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT a.* FROM unnest(twtasks_internal.add_all(tasks, NULL, true)) a
$$;
