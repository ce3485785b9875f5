/*
 * A session that adds an occurrence locks the schedule's row, and moves the row
 * on to the next occurrence in the same transaction.  So none is added twice.
 */
CREATE TABLE twtasks.schedule (
	name			text COLLATE "C" NOT NULL,		-- Given by its maker
	cron			text NOT NULL,					-- A cron expression
	time_zone		text NOT NULL,					-- Time zone of the cron expression
	missed			text NOT NULL,					-- Rule for occurrences that were not added in time: skip, once or all
	missed_limit	integer NOT NULL,				-- all: at most this many, the last ones
	is_paused		boolean NOT NULL DEFAULT false,	-- Adds nothing until resume_schedule()
	look_at			timestamptz NOT NULL,			-- Time of the next look: next_run, or later after a failure; infinity: never
	next_run		timestamptz,					-- The next occurrence; NULL: none, or it is paused
	last_run		timestamptz,					-- The occurrence added last, or the time of run_schedule_now()
	last_task		uuid,							-- The task added last
	last_missed		timestamptz,					-- The last occurrence left out
	problem			text,							-- The reason why the due occurrence cannot be added; NULL: it can
	type			text COLLATE "C" NOT NULL,		-- Type of its tasks
	sub_type		text,							-- As in twtasks.task
	bucket			text COLLATE "C",				-- As in twtasks.task; NULL: of the type's policy
	priority		smallint,						-- As in twtasks.task; NULL: of the type's policy
	expires_after	interval,						-- From the occurrence to the task's expires; NULL: of the type's policy
	data			jsonb,							-- As in twtasks.task
	payload			bytea,							-- As in twtasks.task
	context			jsonb,							-- As in twtasks.task; name and occurrence are added to it
	role			text NOT NULL,					-- Its maker, which adds its tasks
	CONSTRAINT schedule_pkey PRIMARY KEY (name)
);
CREATE INDEX schedule_look_at ON twtasks.schedule (look_at);

COMMENT ON TABLE twtasks.schedule IS 'Schedules, which add tasks by the clock';

/* Only run_schedules() writes here.  Anybody could take a unique key. */
CREATE TABLE twtasks.schedule_run (
	name			text COLLATE "C" NOT NULL,	-- The schedule, which may have been removed since
	occurrence		timestamptz NOT NULL,		-- Time at which it was due
	added			timestamptz NOT NULL,		-- Time at which its task was added
	task_id			uuid NOT NULL,				-- Its task
	CONSTRAINT schedule_run_pkey PRIMARY KEY (name, occurrence)
);
CREATE INDEX schedule_run_added ON twtasks.schedule_run (added);
COMMENT ON TABLE twtasks.schedule_run IS 'Added occurrences, kept as long as finished tasks, so that none is added twice';

CREATE TABLE twtasks.schedule_audit (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- Ascends with the changes of one schedule
	at				timestamptz NOT NULL,					-- When
	actor			text NOT NULL,							-- The role that logged in
	action			text NOT NULL,							-- schedule, unschedule, pause, resume, run now
	name			text COLLATE "C" NOT NULL,				-- The schedule
	before			jsonb,									-- Before the change; "carries" is a hash of data, payload and context
	after			jsonb,									-- After the change; the task, for run now
	reason			text,									-- In the actor's words
	on_behalf_of	text DEFAULT twtasks_internal.on_behalf_of(),	-- The person for whom twtasks-web acted; NULL: the actor acted
	CONSTRAINT schedule_audit_pkey PRIMARY KEY (id)
);
CREATE INDEX schedule_audit_name ON twtasks.schedule_audit (name);
COMMENT ON TABLE twtasks.schedule_audit IS 'Changes of schedules';

SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule_run', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule_audit', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule_audit_id_seq', '');

CREATE VIEW twtasks.schedules AS
	SELECT s.name, s.cron, s.time_zone, s.missed, s.missed_limit,
		   s.type, s.sub_type, s.bucket, s.priority, s.expires_after,
		   s.is_paused, s.next_run, s.problem, s.last_missed,
		   s.last_run, s.last_task, t.status AS last_status,
		   t.state_time AS last_state_time, t.error AS last_error
	FROM twtasks.schedule s
	LEFT JOIN LATERAL (
		SELECT l.status, l.state_time, l.error FROM twtasks.task l WHERE l.id = s.last_task
		UNION ALL
		SELECT f.status, f.state_time, f.error FROM twtasks.finished_task f WHERE f.id = s.last_task
		LIMIT 1) t ON true;
COMMENT ON VIEW twtasks.schedules IS 'Schedules: next run, last run and its outcome';

CREATE VIEW twtasks.schedule_runs AS
	SELECT r.name, r.occurrence, r.added, r.task_id, t.status, t.state_time, t.error
	FROM twtasks.schedule_run r
	LEFT JOIN LATERAL (
		SELECT l.status, l.state_time, l.error FROM twtasks.task l WHERE l.id = r.task_id
		UNION ALL
		SELECT f.status, f.state_time, f.error FROM twtasks.finished_task f WHERE f.id = r.task_id
		LIMIT 1) t ON true;
COMMENT ON VIEW twtasks.schedule_runs IS 'Added occurrences of schedules, and their outcome';

/*
 * twtasks_internal.describe_schedule(name)
 *
 *		The settings of a schedule, for the audit.  A hash stands for data,
 *		payload and context, which a reader of the audit may not see.
 *
 * Returns
 *		jsonb; NULL: no schedule has that name
 */
CREATE FUNCTION twtasks_internal.describe_schedule(name text)
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = 'postgres'
AS $$
	SELECT to_jsonb(d) FROM (
		SELECT s.cron, s.time_zone, s.missed, s.missed_limit, s.is_paused, s.type, s.sub_type,
			   s.bucket, s.priority, s.expires_after, s.role,
			   encode(sha256(convert_to(jsonb_build_array(s.data, s.context)::text, 'UTF8')
							 || coalesce(sha256(s.payload), '')), 'hex') AS carries
		FROM twtasks.schedule s WHERE s.name = describe_schedule.name) d
$$;

/*
 * twtasks_internal.audit_schedule(action, name, before, after, reason)
 *
 *		Records what the session has just done to a schedule.
 *
 * Parameters
 *		before, after	describe_schedule()
 *
 * Writes		twtasks.schedule_audit
 */
CREATE FUNCTION twtasks_internal.audit_schedule(action text, name text, before jsonb, after jsonb, reason text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO twtasks.schedule_audit (at, actor, action, name, before, after, reason)
	VALUES (clock_timestamp(), twtasks_internal.actor(), audit_schedule.action, audit_schedule.name,
			audit_schedule.before, audit_schedule.after, audit_schedule.reason)
$$;

/*
 * twtasks_internal.start_schedule(name, anew)
 *
 *		Sets the time at which a changed schedule is looked at.
 *
 * Parameters
 *		anew			true: its next occurrence is the first from now on
 *
 * Returns
 *		its next run; NULL: it is paused
 *
 * Writes		twtasks.schedule
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.start_schedule(name text, anew boolean)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	started twtasks.schedule;
BEGIN
	SELECT s.* INTO started FROM twtasks.schedule s WHERE s.name = start_schedule.name;
	IF started.is_paused THEN
		started.next_run := NULL;
	ELSIF anew THEN
		started.next_run := twtasks.cron_next(started.cron, twtasks.clock(), started.time_zone);
	END IF;
	UPDATE twtasks.schedule s
	SET problem = NULL, next_run = started.next_run, look_at = coalesce(started.next_run, 'infinity')
	WHERE s.name = start_schedule.name;
	IF started.next_run IS NOT NULL THEN
		-- There is no such task: only the time counts.
		PERFORM twtasks_internal.queue_trigger(gen_random_uuid(), 0::bigint,
			coalesce(started.bucket, (twtasks.policy_of(started.type)).bucket, 'default'),
			started.type, 0::smallint, 0, started.next_run);
	END IF;
	RETURN started.next_run;
END $$;

/*
 * twtasks_internal.check_schedule(...)
 *
 *		Refuses arguments that schedule() must not store. add_task() itself is
 *		asked about type, bucket and priority.
 *
 * Errors
 *		22004, 22023, 42501, 54000	as schedule()
 */
CREATE FUNCTION twtasks_internal.check_schedule(schedule twtasks.schedule, priority integer)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing CONSTANT text := CASE
		WHEN schedule.name IS NULL THEN 'name' WHEN schedule.cron IS NULL THEN 'cron'
		WHEN schedule.time_zone IS NULL THEN 'time_zone' WHEN schedule.missed IS NULL THEN 'missed'
		WHEN schedule.missed_limit IS NULL THEN 'missed_limit' END;
BEGIN
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION '% must not be null', missing
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF schedule.name !~ '^[^[:space:]]' OR schedule.name ~ '[[:cntrl:]]' OR length(schedule.name) > 200 THEN
		RAISE EXCEPTION 'invalid name of a schedule'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A name has 1 to 200 characters, does not begin with a space, and has no control characters.';
	ELSIF schedule.missed NOT IN ('skip', 'once', 'all') THEN
		RAISE EXCEPTION 'missed must be skip, once or all, not "%"', twtasks_internal.shown(schedule.missed)
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF schedule.missed_limit NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'missed_limit must be between 1 and 1000, not %', schedule.missed_limit
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF schedule.expires_after <= interval '0' THEN
		RAISE EXCEPTION 'expires_after must be greater than zero'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF jsonb_typeof(schedule.context) <> 'object' THEN
		RAISE EXCEPTION 'context must be a JSON object'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The name of the schedule and the occurrence are added to it.';
	ELSIF twtasks.cron_next(schedule.cron, twtasks.clock(), schedule.time_zone) IS NULL THEN
		RAISE EXCEPTION 'cron expression "%" names no time', schedule.cron
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Its month has no such day.';
	END IF;
	BEGIN
		PERFORM twtasks_internal.add_task_as(schedule.role, twtasks.new_task(
			schedule.type, schedule.data, schedule.sub_type, priority => check_schedule.priority,
			bucket => schedule.bucket, expires => twtasks.clock() + schedule.expires_after,
			context => schedule.context, payload => schedule.payload));
		RAISE EXCEPTION 'this task was for a test' USING ERRCODE = 'TWT00';
	EXCEPTION WHEN SQLSTATE 'TWT00' THEN
		NULL;
	END;
END $$;

/*
 * twtasks.schedule(name, cron, type, data, ...)
 *
 *		Makes the schedule of that name, or replaces it; a schedule adds tasks
 *		by the clock.  A new cron expression or time zone counts from now on.
 *		If neither changes, the next occurrence stays, even a missed one.  A
 *		paused schedule stays paused.
 *
 *		Each occurrence is added once.  The task's context gives its handler the
 *		name ("schedule") and the occurrence ("scheduled_for").
 *
 * Parameters
 *		name			1 to 200 characters
 *		cron			as for cron_next()
 *		type, data		of the tasks, as for add_task(); so are sub_type, priority,
 *						bucket, context and payload
 *		time_zone		of cron: a name of pg_timezone_names
 *		missed			rule for occurrences that no sidecar added in time, that
 *						is, within a minute: 'skip' leaves them out, 'once' runs
 *						the last one, 'all' runs the last missed_limit ones
 *		missed_limit	1 to 1000
 *		expires_after	a task that has not started this long after its occurrence
 *						becomes FAILED
 *		context			a JSON object
 *		reason			for the audit
 *
 * Returns
 *		result			'added', 'changed' or 'unchanged'
 *		next_run		its next run; NULL: it is paused
 *
 * Errors
 *		22004			a required parameter is NULL
 *		22023			a parameter is not valid, or cron names no time
 *		54000			data, payload and context exceed twtasks.max_payload
 *		42501			the calling role may not add this type: see allow_type()
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock; waits for a change of the same schedule
 * Wakes		after commit one sidecar of the bucket
 * Example		SELECT * FROM twtasks.schedule('nightly', '30 2 * * *', 'SETTLE',
 *					time_zone => 'Europe/Berlin');
 */
CREATE FUNCTION twtasks.schedule(
	name text,
	cron text,
	type text,
	data jsonb DEFAULT NULL,
	time_zone text DEFAULT 'UTC',
	missed text DEFAULT 'once',
	missed_limit integer DEFAULT 100,
	sub_type text DEFAULT NULL,
	priority integer DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires_after interval DEFAULT NULL,
	context jsonb DEFAULT NULL,
	payload bytea DEFAULT NULL,
	reason text DEFAULT NULL,
	OUT result text,
	OUT next_run timestamptz)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted twtasks.schedule;
	old twtasks.schedule;
	before jsonb;
	after jsonb;
BEGIN
	wanted.name := schedule.name;
	wanted.cron := schedule.cron;
	wanted.time_zone := schedule.time_zone;
	wanted.missed := schedule.missed;
	wanted.missed_limit := schedule.missed_limit;
	wanted.type := schedule.type;
	wanted.sub_type := schedule.sub_type;
	wanted.bucket := schedule.bucket;
	wanted.expires_after := schedule.expires_after;
	wanted.data := schedule.data;
	wanted.payload := schedule.payload;
	wanted.context := schedule.context;
	wanted.role := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END;
	PERFORM twtasks_internal.check_schedule(wanted, schedule.priority);
	wanted.priority := schedule.priority;
	wanted.is_paused := false;
	wanted.look_at := 'infinity';

	LOOP
		INSERT INTO twtasks.schedule
			(name, cron, time_zone, missed, missed_limit, is_paused, look_at, type, sub_type, bucket,
			 priority, expires_after, data, payload, context, role)
		SELECT wanted.name, wanted.cron, wanted.time_zone, wanted.missed, wanted.missed_limit, wanted.is_paused,
			   wanted.look_at, wanted.type, wanted.sub_type, wanted.bucket, wanted.priority,
			   wanted.expires_after, wanted.data, wanted.payload, wanted.context, wanted.role
		ON CONFLICT ON CONSTRAINT schedule_pkey DO NOTHING;
		IF FOUND THEN
			result := 'added';
			next_run := twtasks_internal.start_schedule(wanted.name, true);
			PERFORM twtasks_internal.audit_schedule('schedule', wanted.name, NULL::jsonb,
				twtasks_internal.describe_schedule(wanted.name), schedule.reason);
			RETURN;
		END IF;
		SELECT s.* INTO old FROM twtasks.schedule s WHERE s.name = wanted.name FOR UPDATE;
		EXIT WHEN FOUND;		-- else it was removed in between
	END LOOP;
	before := twtasks_internal.describe_schedule(wanted.name);
	UPDATE twtasks.schedule s
	SET cron = wanted.cron, time_zone = wanted.time_zone, missed = wanted.missed,
		missed_limit = wanted.missed_limit, type = wanted.type, sub_type = wanted.sub_type,
		bucket = wanted.bucket, priority = wanted.priority, expires_after = wanted.expires_after,
		data = wanted.data, payload = wanted.payload, context = wanted.context, role = wanted.role
	WHERE s.name = wanted.name;
	after := twtasks_internal.describe_schedule(wanted.name);
	result := CASE WHEN before = after THEN 'unchanged' ELSE 'changed' END;
	next_run := twtasks_internal.start_schedule(wanted.name,
		(old.cron, old.time_zone) <> (wanted.cron, wanted.time_zone));
	IF result = 'changed' THEN
		PERFORM twtasks_internal.audit_schedule('schedule', wanted.name, before, after, schedule.reason);
	END IF;
END $$;

/*
 * twtasks.unschedule(name, reason)
 *
 *		Removes a schedule.  Tasks that it has added stay.
 *
 * Returns
 *		'removed', or 'not_found'
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 */
CREATE FUNCTION twtasks.unschedule(name text, reason text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before jsonb;
BEGIN
	PERFORM FROM twtasks.schedule s WHERE s.name = unschedule.name FOR UPDATE;
	before := twtasks_internal.describe_schedule(unschedule.name);
	DELETE FROM twtasks.schedule s WHERE s.name = unschedule.name;
	IF NOT FOUND THEN
		RETURN 'not_found';
	END IF;
	PERFORM twtasks_internal.audit_schedule('unschedule', unschedule.name, before, NULL::jsonb, reason);
	RETURN 'removed';
END $$;

/*
 * twtasks_internal.set_schedule_paused(name, paused, reason)
 *
 *		The work of pause_schedule() and resume_schedule().
 */
CREATE FUNCTION twtasks_internal.set_schedule_paused(name text, paused boolean, reason text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	was boolean;
	before jsonb;
BEGIN
	SELECT s.is_paused INTO was FROM twtasks.schedule s
	WHERE s.name = set_schedule_paused.name FOR UPDATE;
	IF was IS NULL OR was = paused THEN
		RETURN CASE WHEN was IS NULL THEN 'not_found' ELSE 'not_changed' END;
	END IF;
	before := twtasks_internal.describe_schedule(set_schedule_paused.name);
	UPDATE twtasks.schedule s SET is_paused = paused WHERE s.name = set_schedule_paused.name;
	PERFORM twtasks_internal.start_schedule(set_schedule_paused.name, true);
	PERFORM twtasks_internal.audit_schedule(CASE WHEN paused THEN 'pause' ELSE 'resume' END,
		set_schedule_paused.name, before,
		twtasks_internal.describe_schedule(set_schedule_paused.name), reason);
	RETURN CASE WHEN paused THEN 'paused' ELSE 'resumed' END;
END $$;

/*
 * twtasks.pause_schedule(name, reason)
 *
 *		Keeps a schedule from adding tasks until resume_schedule().
 *
 * Returns
 *		'paused', 'not_changed' (it was paused before), or 'not_found'
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 */
CREATE FUNCTION twtasks.pause_schedule(name text, reason text DEFAULT NULL)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.set_schedule_paused(name, true, reason) $$;

/*
 * twtasks.resume_schedule(name, reason)
 *
 *		Lets a paused schedule go on from now.  Occurrences during the pause are
 *		not made up for, whatever its rule for missed ones.
 *
 * Returns
 *		'resumed', 'not_changed' (it was not paused), or 'not_found'
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks.resume_schedule(name text, reason text DEFAULT NULL)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.set_schedule_paused(name, false, reason) $$;

/*
 * twtasks.run_schedule_now(name, reason)
 *
 *		Adds a task of a schedule, paused or not, in addition to its
 *		occurrences.
 *
 * Returns
 *		as add_task(); result 'not_found': no such schedule
 *
 * Errors
 *		as add_task()
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks.run_schedule_now(name text, reason text DEFAULT NULL)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schedule twtasks.schedule;
	added twtasks.added_task;
BEGIN
	SELECT s.* INTO schedule FROM twtasks.schedule s
	WHERE s.name = run_schedule_now.name FOR UPDATE;
	IF NOT FOUND THEN
		added.result := 'not_found';
		RETURN added;
	END IF;
	added := twtasks_internal.add_occurrence(schedule, NULL::timestamptz);
	PERFORM twtasks_internal.audit_schedule('run now', schedule.name, NULL::jsonb,
		jsonb_build_object('task', added.task_id), reason);
	RETURN added;
END $$;
