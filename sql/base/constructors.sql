/*
 * twtasks.new_task(type, data, ...)
 *
 *		Makes an element for add_tasks() and take_messages(), or the answer of a
 *		listener's function.  Attributes that users have added to the type are null.
 *
 * Parameters
 *		as add_task()
 *
 * Returns
 *		the value; nothing is added or checked
 * Example		SELECT * FROM twtasks.add_tasks(ARRAY[twtasks.new_task('A'), twtasks.new_task('B', key => 'b-7')]);
 */
CREATE FUNCTION twtasks.new_task(
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
RETURNS twtasks.new_task
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_new_task';

/*
 * twtasks.message(topic, partition, "offset", "time", key, value, headers)
 *
 *		Makes a message for take_messages().  Attributes that users have added to the
 *		type are null.
 *
 * Parameters
 *		topic			its name
 *		partition		from 0
 *		offset			its place in the partition
 *		time			NULL: not known
 *		key				NULL: none
 *		value			NULL: none
 *		headers			an object of texts or nulls
 *
 * Returns
 *		the message; nothing is checked
 * Example		SELECT twtasks.message('invoices', 0, 17, value => '{"no": 4}');
 */
CREATE FUNCTION twtasks.message(
	topic text,
	partition integer,
	"offset" bigint,
	"time" timestamptz DEFAULT NULL,
	key bytea DEFAULT NULL,
	value bytea DEFAULT NULL,
	headers jsonb DEFAULT '{}')
RETURNS twtasks.message
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_message';

/*
 * twtasks_internal.task_input(id, version, ...)
 *
 *		Makes the argument of a function that decides about a task.
 */
CREATE FUNCTION twtasks_internal.task_input(
	id uuid,
	version bigint,
	type text,
	sub_type text,
	bucket text,
	priority smallint,
	tries integer,
	grabbed timestamptz,
	data jsonb,
	payload bytea,
	context jsonb,
	key text)
RETURNS twtasks.task_input
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_task_input';

/*
 * twtasks_internal.change_result(result, version, status)
 *
 *		Makes the answer of a change by hand.
 */
CREATE FUNCTION twtasks_internal.change_result(
	result text,
	version bigint DEFAULT NULL,
	status twtasks.task_status DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_change_result';

/*
 * twtasks_internal.late_result(id, version, result, message, outcome)
 *
 *		Makes an element for functions that hear of late results.
 */
CREATE FUNCTION twtasks_internal.late_result(
	id uuid,
	version bigint,
	result text,
	message text,
	outcome jsonb)
RETURNS twtasks.late_result
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_late_result';
