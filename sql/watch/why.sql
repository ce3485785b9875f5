/*
 * twtasks_internal.on_one_line(message)
 *
 *		An error for a sentence: its first 300 characters, without line breaks and
 *		without a full stop at its end.
 */
CREATE FUNCTION twtasks_internal.on_one_line(message text)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT rtrim(regexp_replace(left(message, 300), '[[:cntrl:][:space:]]+', ' ', 'g'), '. ')
		|| CASE WHEN length(message) > 300 THEN ' ...' ELSE '' END
$$;

/*
 * twtasks_internal.remedy(action, call, id, version, more)
 *
 *		advice() to call a function for a task with the version that was seen.
 */
CREATE FUNCTION twtasks_internal.remedy(action text, call text, id uuid, version bigint, more text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.advice(action, format('SELECT * FROM twtasks.%s(%L, %s%s)', call, id, version, ', ' || more))
$$;

/*
 * twtasks_internal.fate_of(t)
 *
 *		The fate of a task when its stuck rule applies, as part of a sentence.
 */
CREATE FUNCTION twtasks_internal.fate_of(t twtasks.task)
RETURNS text
LANGUAGE sql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN EXISTS (SELECT FROM twtasks.cancel_requests r WHERE r.id = t.id) THEN 'it becomes CANCELLED, as was asked'
				WHEN (twtasks_internal.type_options(t.type)).asks_stuck
				THEN format('function "%s" decides on it', (twtasks.policy_of(t.type)).stuck_function)
				ELSE format('its stuck rule "%s" %s', t.stuck, CASE t.stuck
					WHEN 'retry' THEN 'lets it run again' WHEN 'fail' THEN 'makes it FAILED'
					WHEN 'error' THEN 'makes it ERROR, for a person to decide' ELSE 'leaves it as it is' END) END
$$;

/*
 * twtasks_internal.why_running(t)
 *
 *		why() for a task that is PROCESSING.
 */
CREATE FUNCTION twtasks_internal.why_running(t twtasks.task, OUT reason text, OUT sentence text, OUT advice jsonb[])
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	fate CONSTANT text := twtasks_internal.fate_of(t);
	since CONSTANT text := twtasks_internal.shown_time(t.state_time);
	leader CONSTANT text := coalesce((
		SELECT format('at the next look of node "%s", which leads, ', n.name) FROM twtasks.node n
		WHERE n.leads AND n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease LIMIT 1), 'as soon as a node leads, ');
	ends CONSTANT text := CASE WHEN t.deadline IS NULL THEN 'it has no deadline'
							   WHEN t.deadline <= moment THEN 'its deadline passed at ' || twtasks_internal.shown_time(t.deadline)
							   ELSE 'its deadline is ' || twtasks_internal.shown_time(t.deadline) END;
	asked CONSTANT text := coalesce('; it is to stop, ' || (SELECT r.why FROM twtasks.cancel_requests r WHERE r.id = t.id LIMIT 1), '');
	node twtasks.node;
BEGIN
	SELECT n.* INTO node FROM twtasks.node n WHERE n.incarnation = t.incarnation;
	IF NOT t.queued THEN
		reason := 'accepted';
		sentence := format('Its handler handed it on, and it waits for a report by finish_task()%s',
			CASE WHEN t.next_event_time <= moment THEN format('; its deadline passed at %s: %s%s', twtasks_internal.shown_time(t.next_event_time), leader, fate)
				 WHEN isfinite(t.next_event_time) THEN format(' until %s; then %s', twtasks_internal.shown_time(t.next_event_time), fate)
				 ELSE ', for any time' END);
	ELSIF node.incarnation IS NULL OR node.ended IS NOT NULL THEN
		reason := 'node gone';
		sentence := format('Its node%s is gone, and it ran there since %s; %s%s', ' "' || node.name || '"', since,
			CASE WHEN twtasks_internal.may_still_run(t.type, t.deadline)
				 THEN format('its handler may still run until the deadline at %s, then ', twtasks_internal.shown_time(t.deadline)) ELSE leader END, fate);
	ELSIF node.heartbeat < clock_timestamp() - node.lease THEN
		reason := 'node silent';
		sentence := format('It runs since %s on node "%s", which has been silent since %s; when the node counts as gone, %s', since, node.name,
						   twtasks_internal.shown_time(node.heartbeat), fate);
	ELSE
		reason := CASE WHEN t.deadline <= moment THEN 'deadline passed' ELSE 'running' END;
		sentence := format('It runs since %s on node "%s" as try %s; %s%s', since, node.name, t.tries, ends,
						   CASE WHEN t.deadline <= moment THEN ', and ' || leader || fate WHEN t.deadline IS NOT NULL THEN ', and then ' || fate END);
	END IF;
	sentence := sentence || asked || coalesce((
		SELECT format('; its handler reported %s %% at %s%s', p.percent, twtasks_internal.shown_time(p.at), ': ' || twtasks_internal.on_one_line(p.note))
		FROM twtasks.progress p WHERE p.id = t.id), '');
	advice := ARRAY[twtasks_internal.remedy('cancel it; a handler that runs is asked to stop', 'request_cancel', t.id, t.version, $a$reason => '...'$a$)];
	IF reason IN ('accepted', 'node gone') THEN
		advice := twtasks_internal.remedy('report its result, if you know it', 'finish_task', t.id, t.version, $a$'done'$a$) || advice;
	END IF;
END $$;

/*
 * twtasks_internal.why_stopped(t)
 *
 *		why() for a task that waits for a person: ERROR or HELD.
 */
CREATE FUNCTION twtasks_internal.why_stopped(t twtasks.task, OUT reason text, OUT sentence text, OUT advice jsonb[])
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	since CONSTANT text := twtasks_internal.shown_time(t.state_time);
	because CONSTANT text := $a$reason => '...'$a$;
BEGIN
	IF t.status = 'ERROR' THEN
		reason := 'error';
		sentence := format('It waits for a person since %s, after %s %s: %s', since, t.tries, twtasks_internal.plural(t.tries, 'try', 'tries'),
						   coalesce(twtasks_internal.on_one_line(t.error), 'its handler gave no message'));
		advice := ARRAY[twtasks_internal.remedy('let it run again', 'resume_task', t.id, t.version, because),
						twtasks_internal.remedy('give it up', 'fail_task', t.id, t.version, because)];
		RETURN;
	END IF;
	reason := 'held';
	sentence := format('It is held since %s%s, and runs only after somebody releases it%s', since,
		(SELECT format(', by %s%s', coalesce(a.on_behalf_of, a.actor), ' (' || twtasks_internal.on_one_line(a.reason) || ')') FROM twtasks.audit a
		 WHERE a.task_id = t.id AND a.to_version = t.version ORDER BY a.id DESC LIMIT 1),
		CASE WHEN t.planned = 'infinity' THEN '; it was in ERROR before'
			 WHEN t.planned IS NOT NULL THEN format('; it was to run at %s', twtasks_internal.shown_time(t.planned)) END);
	advice := ARRAY[twtasks_internal.remedy('release it', 'release_task', t.id, t.version,
											CASE WHEN t.planned = 'infinity' THEN 'run_after => now(), ' ELSE '' END || because),
					twtasks_internal.remedy('cancel it', 'cancel_task', t.id, t.version, because)];
END $$;

/*
 * twtasks_internal.queue_before(t)
 *
 *		Counts the tasks of its bucket and type that are queued before a task, up to
 *		10,001.
 */
CREATE FUNCTION twtasks_internal.queue_before(t twtasks.task)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
	SELECT count(*)
	FROM (SELECT FROM twtasks.task q
		  WHERE q.queued AND q.status = 'SUBMITTED' AND q.bucket = t.bucket AND q.type = t.type AND (q.priority, q.id) < (t.priority, t.id)
		  ORDER BY q.bucket, q.type, q.priority, q.id LIMIT 10001) r
$$;

/*
 * twtasks_internal.locked_by(id)
 *
 *		The process whose open transaction has locked or changed that task; NULL: none
 *		is known.
 */
CREATE FUNCTION twtasks_internal.locked_by(id uuid)
RETURNS integer
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT l.pid FROM pg_locks l
	WHERE l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid()
	  AND l.transactionid = (SELECT t.xmax FROM twtasks.task t WHERE t.id = locked_by.id AND t.xmax <> '0'::xid)
	LIMIT 1
$$;

/*
 * twtasks_internal.why_no_grab(t)
 *
 *		why() for a task that may run and that no obstacle holds up.
 */
CREATE FUNCTION twtasks_internal.why_no_grab(
	t twtasks.task, OUT reason text, OUT clause text, OUT advice jsonb[])
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	holder CONSTANT integer := twtasks_internal.locked_by(t.id);
	waited CONSTANT interval := greatest(date_trunc('second', twtasks.clock() - t.state_time), '0'::interval);
	seen record;
BEGIN
	IF holder IS NOT NULL THEN
		reason := 'locked';
		clause := format('process %s has locked it in an open transaction, as a SQL handler does while it runs', holder);
		advice := ARRAY[twtasks_internal.advice('look at the process', format('SELECT * FROM pg_stat_activity WHERE pid = %s', holder))];
		RETURN;
	END IF;
	SELECT string_agg(DISTINCT format('"%s"', n.name), ', ') AS names, min(format('"%s" reports %s', n.name, n.faults[1])) FILTER (WHERE n.faults <> '{}') AS fault,
		   coalesce(sum(s.tasks) FILTER (WHERE s.type = t.type), 0) AS own, coalesce(sum(s.tasks), 0) AS in_all
	INTO seen
	FROM twtasks_internal.nodes_for(t.type, t.bucket) n
	LEFT JOIN (SELECT r.* FROM twtasks_internal.seen_running(t.bucket, t.type) r WHERE r.type = t.type
			   UNION ALL
			   SELECT r.* FROM twtasks_internal.seen_running(t.bucket, '') r WHERE r.type <> t.type) s ON s.incarnation = n.incarnation;
	advice := ARRAY[twtasks_internal.advice('see what the nodes report', 'SELECT * FROM twtasks.warnings'),
					twtasks_internal.advice('see how its queue moves', format('SELECT * FROM twtasks.queue_stats() WHERE bucket = %L', t.bucket))];
	IF seen.own > 0 THEN
		reason := 'slots full';
		clause := format('it waits for a slot: %s %s of its type now on %s', seen.own, CASE seen.own WHEN 1 THEN 'task runs' ELSE 'tasks run' END, seen.names);
	ELSIF seen.fault IS NOT NULL THEN
		reason := 'broken handler';
		clause := 'node ' || twtasks_internal.on_one_line(seen.fault);
	ELSIF seen.in_all > 0 THEN
		reason := 'slots full';
		clause := format('it waits for a slot: %s of other types now on %s', CASE seen.in_all WHEN 1 THEN '1 task runs' ELSE seen.in_all || ' tasks run' END, seen.names);
	ELSIF waited < interval '5 seconds' THEN
		reason := 'just queued';
		clause := format('it has been in the queue for %s, and a node that is free takes it within seconds', waited);
	ELSE
		reason := 'not taken';
		clause := format('nothing has taken it for %s, although no obstacle is known and nothing of its bucket runs on %s', waited, seen.names);
	END IF;
END $$;

/*
 * twtasks_internal.why_not_started(t)
 *
 *		why() for a task that is SUBMITTED, or WAITING.
 */
CREATE FUNCTION twtasks_internal.why_not_started(
	t twtasks.task, OUT reason text, OUT sentence text, OUT advice jsonb[],
	OUT place bigint, OUT starts timestamptz)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known record;
	grab record;
	until text := twtasks_internal.shown_time(t.next_event_time);
	is_due CONSTANT boolean := t.next_event_time <= (SELECT twtasks.clock());
	leader CONSTANT text := (SELECT n.name FROM twtasks.node n
							 WHERE n.leads AND n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease LIMIT 1);
BEGIN
	SELECT (array_agg(o.reason ORDER BY o.rank))[1] AS reason, string_agg(o.clause, '; also, ' ORDER BY o.rank, o.clause) AS clause,
		   array_agg(o.advice ORDER BY o.rank, o.clause) AS advice
	INTO known FROM twtasks_internal.obstacles(t) o;
	reason := known.reason;
	advice := coalesce(known.advice, '{}');
	IF t.status = 'SUBMITTED' THEN
		place := twtasks_internal.queue_before(t);
		IF reason IS NULL THEN
			SELECT g.* INTO grab FROM twtasks_internal.why_no_grab(t) g;
			reason := grab.reason;
			known.clause := grab.clause;
			advice := grab.advice;
		END IF;
		sentence := format('It may run, but %s%s', known.clause,
			CASE WHEN place > 10000 THEN '; more than 10,000 tasks of its type are queued before it'
				 WHEN place > 0 THEN format(twtasks_internal.plural(place, '; %s task of its type is queued before it',
																	'; %s tasks of its type are queued before it'), place) END);
		RETURN;
	END IF;
	IF is_due THEN
		reason := coalesce(reason, 'due');
		sentence := format('It is due since %s, and %s%s', until,
			CASE WHEN leader IS NULL THEN 'no node leads, which would put it into the queue'
				 ELSE format('node "%s", which leads, has not put it into the queue yet', leader) END, '; also, ' || known.clause);
	ELSE
		starts := CASE WHEN reason IS NULL THEN t.next_event_time END;
		reason := CASE WHEN t.tries > 0 AND t.error IS NOT NULL THEN 'retry' ELSE 'time' END;
		sentence := format('It waits until %s%s%s', until,
			CASE WHEN t.tries > 0 AND t.error IS NOT NULL
				 THEN format(' for try %s, since try %s failed: %s', t.tries + 1, t.tries, twtasks_internal.on_one_line(t.error))
				 WHEN t.error IS NOT NULL THEN format(', and said last: %s', twtasks_internal.on_one_line(t.error)) END,
			'; even then, ' || known.clause);
	END IF;
	advice := twtasks_internal.remedy('run it now', 'resume_task', t.id, t.version, $a$reason => '...'$a$) || advice;
END $$;

/*
 * twtasks_internal.why_ended(id)
 *
 *		why() for a task that is not live: in the history, or nowhere.
 */
CREATE FUNCTION twtasks_internal.why_ended(
	id uuid, OUT status twtasks.task_status, OUT since timestamptz, OUT version bigint,
	OUT reason text, OUT sentence text, OUT advice jsonb[])
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	f twtasks.finished_task;
	last twtasks.audit;
BEGIN
	SELECT h.* INTO f FROM twtasks.finished_task h WHERE h.id = why_ended.id ORDER BY h.version DESC LIMIT 1;
	IF FOUND THEN
		status := f.status;
		since := f.state_time;
		version := f.version;
		reason := lower(f.status::text);
		sentence := format(CASE f.status WHEN 'DONE' THEN 'It is done since %s, after %s%s' WHEN 'FAILED' THEN 'It failed for good at %s, after %s%s'
							ELSE 'It was cancelled at %s, after %s%s' END, twtasks_internal.shown_time(since),
						   f.tries || twtasks_internal.plural(f.tries, ' try', ' tries'), ': ' || twtasks_internal.on_one_line(coalesce(f.error, f.message)));
		advice := CASE WHEN status <> 'DONE' THEN ARRAY[twtasks_internal.remedy('let it run again', 'reopen_task', why_ended.id, version, $a$reason => '...'$a$)] END;
		RETURN;
	END IF;
	SELECT a.* INTO last FROM twtasks.audit a WHERE a.task_id = why_ended.id ORDER BY a.id DESC LIMIT 1;
	IF FOUND THEN
		reason := 'deleted';
		sentence := format('It is no longer kept: it was deleted when it was done, by when_done or its handler, or cleaned after %s; it was last changed by hand at %s, by %s',
						   twtasks_internal.keep_finished(), twtasks_internal.shown_time(last.at), coalesce(last.on_behalf_of, last.actor));
		advice := ARRAY[twtasks_internal.advice('see who changed it', format('SELECT * FROM twtasks.audit WHERE task_id = %L', why_ended.id))];
	ELSE
		reason := 'no such task';
		sentence := format('No task has this id: it was not added in a transaction that has committed, or it has ended and is not kept (the history keeps %s)',
						   twtasks_internal.keep_finished());
		advice := ARRAY[twtasks_internal.advice('find it by its key', $a$SELECT twtasks.id_of('KEY')$a$)];
	END IF;
END $$;

/*
 * twtasks_internal.add_whys(id, sentence, advice)
 *
 *		Lets other extensions explain their tasks: calls each function of this schema
 *		whose name begins with why_of_ and whose parameter is a uuid.  It returns NULL, or
 *		jsonb with a clause and an array of advice that replaces ours.  A function that
 *		fails adds its error.
 */
CREATE FUNCTION twtasks_internal.add_whys(id uuid, INOUT sentence text, INOUT advice jsonb[])
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	told record;
BEGIN
	FOR name IN SELECT b.name FROM twtasks_internal.brought_functions('why_of_', 'uuid', 'jsonb') b(name) LOOP
		told := twtasks_internal.try_call(name, id);
		sentence := sentence || CASE WHEN told.state IS NOT NULL THEN format('; function "%s" failed: %s', name, told.error)
									 ELSE coalesce('; ' || (told.result::jsonb->>'clause'), '') END;
		IF told.result::jsonb ? 'advice' THEN
			advice := ARRAY(SELECT e FROM jsonb_array_elements(told.result::jsonb->'advice') e);
		END IF;
	END LOOP;
END $$;

/*
 * twtasks.why(id)
 *
 *		Says in one sentence why a task does not run now, or what it does, and what
 *		would change that.  The counts are bounded, so the call takes milliseconds
 *		however many tasks there are.
 *
 * Parameters
 *		id				of the task, live, finished or not
 *
 * Returns
 *		status, since, version	of the task; NULL: there is none
 *		sentence		in English, for people
 *		reason			a constant, for programs: not adopted, switched off, paused, no
 *						bucket, no node, no handler, nodes missing, no fitting node, bucket
 *						full, limit of 0, limit full, rate limit, slots full, broken handler,
 *						locked, just queued, not taken, expired, due, retry, time, running,
 *						deadline passed, node silent, node gone, accepted, error, held, done,
 *						failed, cancelled, deleted, no such task
 *		place			SUBMITTED: number of tasks of its type that are queued before it
 *		place_capped	true: there are more than that
 *		starts			time at which it will start; NULL: nobody can say
 *		advice			a JSON array of objects with the members do and sql: remedies,
 *						each with its statement
 *
 * Errors
 *		22004			id is NULL
 *
 * Locks		none
 * Example		SELECT sentence, advice FROM twtasks.why('...');
 */
CREATE FUNCTION twtasks.why(
	id uuid, OUT status twtasks.task_status, OUT since timestamptz, OUT version bigint,
	OUT sentence text, OUT reason text, OUT place bigint, OUT place_capped boolean,
	OUT starts timestamptz, OUT advice jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
	told record;
	remedies jsonb[];
BEGIN
	IF why.id IS NULL THEN
		RAISE EXCEPTION 'id must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = why.id;
	IF FOUND THEN
		status := task.status;
		since := task.state_time;
		version := task.version;
	END IF;
	IF status IS NULL THEN
		SELECT e.* INTO told FROM twtasks_internal.why_ended(why.id) e;
		status := told.status;
		since := told.since;
		version := told.version;
	ELSIF status IN ('SUBMITTED', 'WAITING') THEN
		SELECT n.* INTO told FROM twtasks_internal.why_not_started(task) n;
		place := CASE WHEN told.place IS NOT NULL THEN least(told.place, 10000) END;
		place_capped := told.place > 10000;
		starts := told.starts;
	ELSIF status = 'PROCESSING' THEN
		SELECT r.* INTO told FROM twtasks_internal.why_running(task) r;
	ELSE
		SELECT s.* INTO told FROM twtasks_internal.why_stopped(task) s;
	END IF;
	reason := told.reason;
	SELECT a.sentence || '.', a.advice INTO sentence, remedies FROM twtasks_internal.add_whys(why.id, told.sentence, told.advice) a;
	advice := to_jsonb(array_remove(coalesce(remedies, '{}'), NULL));
END $$;
