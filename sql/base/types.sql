/* Live: WAITING .. HELD, in twtasks.task.  Final: the rest, in
 * twtasks.finished_task. */
CREATE TYPE twtasks.task_status AS ENUM
	('WAITING', 'SUBMITTED', 'PROCESSING', 'ERROR', 'HELD',
	 'DONE', 'FAILED', 'CANCELLED');

/* The fate of a task whose sidecar is gone or whose deadline passed. */
CREATE TYPE twtasks.stuck_rule AS ENUM ('error', 'retry', 'fail', 'ignore');

/* When the stuck rule applies to a task whose sidecar is gone: as soon as that is
 * known, or at the task's deadline, by which its handler has ended. */
CREATE TYPE twtasks.takeover_rule AS ENUM ('gone', 'deadline');

/* The part of a DONE task that is kept: all, all but its data, nothing. */
CREATE TYPE twtasks.done_rule AS ENUM ('keep', 'clear', 'delete');

CREATE TYPE twtasks.added_task AS (
	task_id		uuid,
	version		bigint,
	result		text
);

/* One element of add_tasks(): the parameters of add_task(). */
CREATE TYPE twtasks.new_task AS (
	type		text,
	data		jsonb,
	sub_type	text,
	key			text,
	task_id		uuid,
	priority	integer,
	run_after	timestamptz,
	bucket		text,
	expires		timestamptz,
	context		jsonb,
	payload		bytea
);

/* A message of send_to_kafka(): NULL is Kafka's null.  headers is an object of texts. */
CREATE TYPE twtasks.kafka_message AS (
	key			bytea,
	value		bytea,
	headers		jsonb
);

/* A message that a listener takes: headers is an object of texts or nulls; of
 * headers with one name the last is there.  A time that PostgreSQL does not have
 * is NULL. */
CREATE TYPE twtasks.message AS (
	topic		text,
	partition	integer,
	"offset"	bigint,
	"time"		timestamptz,
	key			bytea,
	value		bytea,
	headers		jsonb
);

/* The outcome of an operator's change: 'changed', 'requested' (the handler was
 * asked to stop), 'unchanged' (it is so already), or why nothing changed. */
CREATE TYPE twtasks.change_result AS (
	result		text,
	version		bigint,
	status		twtasks.task_status
);

/* A grabbed task: the result of grab_tasks(), and the argument of a SQL handler. */
CREATE TYPE twtasks.task_input AS (
	id			uuid,
	version		bigint,
	type		text,
	sub_type	text,
	bucket		text,
	priority	smallint,
	tries		integer,
	grabbed		timestamptz,
	data		jsonb,
	payload		bytea,
	context		jsonb,
	key			text
);

/* A task that has ended: the argument of on_end functions.  Each attribute is the
 * column of that name in twtasks.tasks, data and context as they were added,
 * outcome what its handler gave besides the result, and started the time of its
 * last grab, if it ended as it ran. */
CREATE TYPE twtasks.ended_task AS (
	id			uuid,
	version		bigint,
	type		text,
	sub_type	text,
	bucket		text,
	key			text,
	tries		integer,
	status		twtasks.task_status,
	state_time	timestamptz,
	error		text,
	message		text,
	data		jsonb,
	context		jsonb,
	outcome		jsonb,
	started		timestamptz
);

/* A result that came too late: what the worker gave to finish_tasks().  See
 * tell_late(). */
CREATE TYPE twtasks.late_result AS (
	id			uuid,
	version		bigint,
	result		text,
	message		text,
	outcome		jsonb
);

/* The answer of a SQL handler; result is as in the worker protocol. */
CREATE TYPE twtasks.task_result AS (
	result		text,
	delay		interval,
	message		text
);

/* The answer of a SQL handler that takes an array of tasks, for the task of that id. */
CREATE TYPE twtasks.task_answer AS (
	id			uuid,
	result		text,
	delay		interval,
	message		text,
	outcome		jsonb
);

/*
 * twtasks_internal.cut_message(message)
 *
 *		Cuts a handler's message to 8,192 characters.  The beginning stays, and
 *		the end, where the reason stands.
 *
 * Returns
 *		text; NULL for NULL
 */
CREATE FUNCTION twtasks_internal.cut_message(message text)
RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cut_message';

/*
 * twtasks_internal.shown(value)
 *
 *		The beginning of a foreign value on one line, to be quoted in a message.
 */
CREATE FUNCTION twtasks_internal.shown(value text)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT regexp_replace(left(value, 64), '[[:cntrl:]]', '?', 'g')
$$;
