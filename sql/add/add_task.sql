/*
 * twtasks.add_task(type, data, ...)
 *
 *		Stores a task in the caller's transaction and lets it run after commit.
 *
 * Parameters
 *		type		names the handler: 1 to 120 letters, digits or _ . : | / -
 *		data		what the handler gets, as JSON
 *		sub_type	for people; at most 250 characters
 *		key			a second task with this key is not added while the first is
 *					kept, live or finished; 1 to 1000 bytes.  put_task() has other rules
 *		task_id		the caller's own id, unique like a key; NULL: a new one, in
 *					order of time
 *		priority	0 (urgent) to 9; NULL: of its policy, else 5
 *		run_after	NULL or past: at once; future: WAITING until then
 *		bucket		the shard whose sidecars run it; NULL: of its policy, else
 *					'default'
 *		expires		not started after this time: it becomes FAILED; NULL: of its
 *					policy, else never
 *		context		carried to the handler: request id, traceparent, ...
 *		payload		bytes that the handler gets in place of data
 *
 * Returns
 *		task_id		the id; of the first task if it already exists
 *		version		its version; 0 for a new one
 *		result		'added', or 'already_exists' (not an error)
 *
 * Errors
 *		22004		type is NULL
 *		22023		type, sub_type, key, priority, bucket or a time is not valid
 *		23505		the id exists already with another key
 *		42704		twtasks.refuse_unknown_types is on, and the type is not known
 *		54000		data, payload and context exceed twtasks.max_payload
 *		25006		read-only transaction, or a standby
 *		42501		the calling role may not add this type (see allow_type()), the type
 *					is an extension's, or the call is within a security-restricted
 *					operation, such as ANALYZE
 *
 * Writes		twtasks.task, twtasks.unique_key (with a key or an id)
 * Locks		row locks only; a duplicate waits for the other transaction
 * Wakes		after commit one sidecar of the bucket
 * Example		SELECT * FROM twtasks.add_task('SEND_EMAIL', '{"to": 7}');
 */
CREATE FUNCTION twtasks.add_task(
	type text,
	data jsonb DEFAULT NULL,
	sub_type text DEFAULT NULL,
	key text DEFAULT NULL,
	task_id uuid DEFAULT NULL,
	priority integer DEFAULT NULL,
	run_after timestamptz DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires timestamptz DEFAULT NULL,
	context jsonb DEFAULT NULL,
	payload bytea DEFAULT NULL)
RETURNS twtasks.added_task
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_add_task';

/*
 * twtasks.put_task(type, key, data, key_rule, ...)
 *
 *		Adds a task as add_task() does, or replaces one with the same key, by a rule.
 *
 * Parameters
 *		type, key	as in add_task(); key must not be NULL
 *		data		what the handler gets, as JSON
 *		key_rule	'replace'		a task with the key that has never started becomes this
 *									one, with its data, priority and time; else this one is
 *									added and takes the key
 *					'replace_data'	the same, but a task that is replaced keeps its time
 *					'live'			this one is not added while a task with the key waits,
 *									runs, or is in ERROR or HELD; an ended one gives it the key
 *					'kept'			as add_task()
 *		others		as in add_task()
 *
 * Returns
 *		task_id		the id; of the task that has the key, if that was replaced or exists
 *		version		its version
 *		result		'added', 'replaced' or 'already_exists'
 *
 * Errors
 *		22004		type, key or key_rule is NULL
 *		22023		key_rule is not one of the above, or as add_task()
 *		23505		a live task of another type has the key, or a task of add_task(),
 *					unless key_rule is 'kept'
 *		55000		the task with the key is held and may have started, and key_rule is
 *					'replace' or 'replace_data'
 *		others		as add_task()
 *
 * Writes		twtasks.task, twtasks.unique_key; twtasks.audit, if the task that is
 *				replaced was changed by hand
 * Locks		row locks only; waits for a grab or finish of the task that it would
 *				replace, and for another transaction with the key.  A task that was
 *				replaced starts only after the commit
 * Wakes		after commit one sidecar of the bucket
 * Example		SELECT * FROM twtasks.put_task('BUILD_PAGE', 'page/7', '{"page": 7}', run_after => now() + interval '30 s');
 */
CREATE FUNCTION twtasks.put_task(
	type text,
	key text,
	data jsonb DEFAULT NULL,
	key_rule text DEFAULT 'replace',
	sub_type text DEFAULT NULL,
	priority integer DEFAULT NULL,
	run_after timestamptz DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires timestamptz DEFAULT NULL,
	context jsonb DEFAULT NULL,
	payload bytea DEFAULT NULL)
RETURNS twtasks.added_task
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_put_task';

/*
 * twtasks_internal.add_task_as(role, task)
 *
 *		Adds a task as add_task() does, in the name of a role: for schedules.  The
 *		role may have been dropped since.
 *
 * Returns, errors, locks, wakes: as add_task()
 */
CREATE FUNCTION twtasks_internal.add_task_as(role text, task twtasks.new_task)
RETURNS twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_add_task_as';
