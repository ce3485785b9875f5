/*
 * A task that the caller gave an id or a key claims it first, as src/add/claim.c
 * does.  A second task with it waits for the first one's transaction.
 */

/*
 * twtasks_internal.find_finished(id)
 *
 *		The version of a task of that id in the history.  The id tells when it was made, so
 *		this looks at few days, and one more for clocks that were set back.
 */
CREATE FUNCTION twtasks_internal.find_finished(id uuid)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT timestamptz := CASE WHEN substr(id::text, 15, 1) = '7' THEN
		to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) - interval '1 day' END;
BEGIN
	RETURN (SELECT f.version FROM twtasks.finished_task f WHERE f.id = find_finished.id AND f.state_time >= made LIMIT 1);
END $$;

/*
 * twtasks_internal.find_version(id)
 *
 *		The version of a task of that id, live or finished.
 */
CREATE FUNCTION twtasks_internal.find_version(id uuid)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce(
		(SELECT t.version FROM twtasks.task t WHERE t.id = find_version.id),
		twtasks_internal.find_finished(id),
		(SELECT f.version FROM twtasks.finished_task f WHERE f.id = find_version.id LIMIT 1));
END $$;

/*
 * twtasks_internal.find_holder(id, key)
 *
 *		The task that holds the id or the key.  The same key under another id is that first
 *		task; the same id under another key is a mistake.
 *
 * Returns
 *		its id; NULL: there is none any more
 *
 * Errors
 *		23505			the id has another key
 */
CREATE FUNCTION twtasks_internal.find_holder(id uuid, key text)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	holder twtasks.unique_key;
BEGIN
	SELECT k.* INTO holder FROM twtasks.unique_key k WHERE k.task_id = find_holder.id;
	IF FOUND AND find_holder.key <> holder.key OR FOUND AND find_holder.key IS NOT NULL AND holder.key IS NULL THEN
		RAISE EXCEPTION 'task "%" exists already with another key', id
			USING ERRCODE = 'unique_violation',
				HINT = 'Always give a task the same task_id and key, or only one of the two.';
	ELSIF FOUND THEN
		RETURN holder.task_id;
	END IF;
	RETURN (SELECT k.task_id FROM twtasks.unique_key k WHERE k.key = find_holder.key);
END $$;

/*
 * twtasks_internal.still_holds(holder)
 *
 *		Whether the holder of a key still holds it.  A key whose task is neither live nor in
 *		the history is free: somebody has emptied a table, or restored a part of a dump.
 *		In a copy that is not adopted, the rest may still come.
 *
 * Writes		twtasks.unique_key
 */
CREATE FUNCTION twtasks_internal.still_holds(holder uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF twtasks_internal.find_version(holder) IS NOT NULL OR NOT twtasks.is_adopted() THEN
		RETURN true;
	END IF;
	DELETE FROM twtasks.unique_key k
	WHERE k.task_id = holder
	  AND NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = holder)
	  AND NOT EXISTS (SELECT FROM twtasks.finished_task f WHERE f.id = holder);
	RETURN false;
END $$;

/*
 * twtasks_internal.replace_holder(task, role, holder, put_version)
 *
 *		The holder becomes the task, unless it may have started: a start and its end are two
 *		versions.  Waits for a grab of it.
 *
 * Parameters
 *		put_version		the version that the last put_task() gave the holder
 *
 * Returns
 *		its new version; NULL: it may have started
 *
 * Writes		twtasks.task, twtasks.unique_key; twtasks.audit, if it was changed by hand
 */
CREATE FUNCTION twtasks_internal.replace_holder(task twtasks_internal.checked_task, role text, holder uuid, put_version bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	now CONSTANT timestamptz := twtasks.clock();
	waits CONSTANT boolean := coalesce(task.run_after > now, false);
	next CONSTANT timestamptz := CASE WHEN waits THEN task.run_after ELSE now + task.queue_time END;
	was twtasks.task;
	became twtasks.task;
	changes bigint;
	moves boolean;
BEGIN
	SELECT t.* INTO was FROM twtasks.task t
	WHERE t.id = holder AND t.type = task.type AND t.status IN ('WAITING', 'SUBMITTED', 'HELD') FOR UPDATE;
	-- Changes by hand start nothing; each is one version.
	SELECT count(*) INTO changes FROM twtasks.audit u
	WHERE u.task_id = holder AND u.to_version > put_version AND u.action IN ('hold', 'release', 'prioritize', 'reschedule');
	IF was.id IS NULL OR was.version > put_version + 1 + changes THEN
		RETURN NULL;
	END IF;
	moves := task.key_rule = 'replace' AND was.status <> 'HELD';
	UPDATE twtasks.task t
	SET version = t.version + 1, added_by = role, size = task.size, priority = task.priority, sub_type = task.sub_type,
		bucket = task.bucket, data = task.data, payload = task.payload, context = task.context, expires = task.expires,
		status = CASE WHEN NOT moves THEN t.status WHEN waits THEN 'WAITING' ELSE 'SUBMITTED' END::twtasks.task_status,
		queued = CASE WHEN moves THEN NOT waits ELSE t.queued END,
		state_time = CASE WHEN moves THEN now ELSE t.state_time END,
		next_event_time = CASE WHEN moves THEN next ELSE t.next_event_time END,
		planned = CASE WHEN task.key_rule <> 'replace' OR t.status <> 'HELD' THEN t.planned WHEN waits THEN next END
	WHERE t.id = holder RETURNING t.* INTO became;
	UPDATE twtasks.unique_key k SET put_version = became.version WHERE k.task_id = holder;
	IF changes > 0 THEN
		PERFORM twtasks_internal.write_audit('replace', holder, twtasks_internal.facts(was), twtasks_internal.facts(became), NULL);
	END IF;
	IF became.status <> 'HELD' THEN
		PERFORM twtasks_internal.queue_trigger(holder, became.version, became.bucket, became.type, became.priority, became.size,
			CASE became.status WHEN 'WAITING' THEN became.next_event_time END);
	END IF;
	RETURN became.version;
END $$;

/*
 * twtasks_internal.check_live(task, holder)
 *
 *		Whether the holder of the task's key is live.
 *
 * Errors
 *		23505			it is, and of another type
 *		55000			it is held and may have started, and the key_rule is not live
 */
CREATE FUNCTION twtasks_internal.check_live(task twtasks_internal.checked_task, holder uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	live record;
BEGIN
	SELECT t.type, t.status INTO live FROM twtasks.task t WHERE t.id = holder;
	IF NOT FOUND THEN
		RETURN false;
	ELSIF live.type <> task.type THEN
		RAISE EXCEPTION 'key "%" belongs to a live task of another type', task.key
			USING ERRCODE = 'unique_violation',
				HINT = 'Begin the keys of each type with the type.';
	ELSIF task.key_rule <> 'live' AND live.status = 'HELD' THEN
		RAISE EXCEPTION 'key "%" belongs to a held task that may have started', task.key
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The task is "%s".', holder),
				HINT = 'Release or cancel that task first.';
	END IF;
	RETURN true;
END $$;

/*
 * twtasks_internal.settle_claim(task, role, own, holder)
 *
 *		Decides by the task's key_rule what becomes of it when another one has its key.
 *
 * Parameters
 *		own				the id that the task would have
 *
 * Returns
 *		result			'added': the task has the key; 'replaced', 'already_exists'; NULL: the
 *						key has changed hands meanwhile
 */
CREATE FUNCTION twtasks_internal.settle_claim(task twtasks_internal.checked_task, role text, own uuid, holder uuid)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settled twtasks.added_task;
	put bigint;
	is_live boolean;
BEGIN
	settled.task_id := holder;
	settled.result := 'already_exists';
	IF task.key_rule = 'kept' THEN
		IF NOT twtasks_internal.still_holds(holder) THEN
			settled.result := NULL;
		END IF;
		settled.version := twtasks_internal.find_version(holder);
		RETURN settled;
	END IF;
	SELECT k.put_version INTO put FROM twtasks.unique_key k WHERE k.task_id = holder AND k.key = task.key;
	IF NOT FOUND THEN
		RETURN NULL;
	ELSIF put IS NULL AND twtasks_internal.still_holds(holder) THEN
		RAISE EXCEPTION 'key "%" is kept for an earlier task', task.key
			USING ERRCODE = 'unique_violation',
				DETAIL = 'The key was claimed by add_task(), by an import, or with the key_rule "kept".',
				HINT = 'Give the keys of put_task() a prefix of their own.';
	ELSIF put IS NULL THEN
		RETURN NULL;
	END IF;
	IF task.key_rule <> 'live' THEN
		settled.version := twtasks_internal.replace_holder(task, role, holder, put);
		IF settled.version IS NOT NULL THEN
			settled.result := 'replaced';
			RETURN settled;
		END IF;
	END IF;
	settled.version := (SELECT t.version FROM twtasks.task t WHERE t.id = holder);
	-- In a statement of its own: beside a condition that is false it might not be called.
	is_live := twtasks_internal.check_live(task, holder);
	IF is_live AND task.key_rule = 'live' OR settled.version IS NULL AND NOT twtasks.is_adopted() THEN
		RETURN settled;
	END IF;
	UPDATE twtasks.unique_key k SET task_id = own, put_version = 0
	WHERE k.key = task.key AND k.task_id = holder AND k.put_version = put;
	settled.task_id := own;
	settled.result := CASE WHEN FOUND THEN 'added' END;
	RETURN settled;
END $$;

/*
 * twtasks_internal.claim_key(task, role, own)
 *
 *		Claims the id and key of a task.
 *
 * Returns
 *		result			'added': they are the task's; else as settle_claim()
 *
 * Errors
 *		40001			the key comes and goes
 */
CREATE FUNCTION twtasks_internal.claim_key(task twtasks_internal.checked_task, role text, own uuid)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	claimed twtasks.added_task;
	holder uuid;
BEGIN
	FOR i IN 1 .. 10 LOOP
		INSERT INTO twtasks.unique_key (task_id, key, put_version)
		VALUES (own, task.key, CASE WHEN task.key_rule <> 'kept' THEN 0 END) ON CONFLICT DO NOTHING;
		IF FOUND THEN
			claimed.task_id := own;
			claimed.result := 'added';
			RETURN claimed;
		END IF;
		holder := twtasks_internal.find_holder(own, task.key);
		IF holder IS NOT NULL THEN
			claimed := twtasks_internal.settle_claim(task, role, own, holder);
			IF claimed.result IS NOT NULL THEN
				RETURN claimed;
			END IF;
		END IF;
	END LOOP;
	RAISE EXCEPTION 'could not add task: another task with its id or key comes and goes'
		USING ERRCODE = 'serialization_failure',
			HINT = 'Try the transaction again.';
END $$;

/*
 * twtasks_internal.store_task(task, role)
 *
 *		Stores a checked task, and has its trigger queued.
 *
 * Returns
 *		as add_task()
 *
 * Writes		twtasks.task, twtasks.unique_key (with a key or an id)
 */
CREATE FUNCTION twtasks_internal.store_task(task twtasks_internal.checked_task, role text)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	now CONSTANT timestamptz := twtasks.clock();
	waits CONSTANT boolean := coalesce(task.run_after > now, false);
	own CONSTANT uuid := coalesce(task.task_id, twtasks_internal.new_id(now));
	stored twtasks.added_task;
	done bigint;
BEGIN
	stored.task_id := own;
	IF task.task_id IS NOT NULL OR task.key IS NOT NULL THEN
		stored := twtasks_internal.claim_key(task, role, own);
		IF stored.result <> 'added' THEN
			RETURN stored;
		END IF;
	END IF;
	IF task.task_id IS NULL OR twtasks_internal.find_finished(own) IS NULL THEN
		INSERT INTO twtasks.task (id, created, state_time, next_event_time, status, queued, size, priority, added_by,
			type, sub_type, bucket, key, data, payload, context, expires)
		VALUES (own, now, now, CASE WHEN waits THEN task.run_after ELSE now + task.queue_time END,
			CASE WHEN waits THEN 'WAITING' ELSE 'SUBMITTED' END::twtasks.task_status, NOT waits, task.size, task.priority, role,
			task.type, task.sub_type, task.bucket, task.key, task.data, task.payload, task.context, task.expires)
		ON CONFLICT (id) DO NOTHING;
		IF FOUND THEN
			-- A task that has just ended conflicts with no row that is left.
			done := CASE WHEN task.task_id IS NOT NULL THEN twtasks_internal.find_finished(own) END;
			IF done IS NULL THEN
				PERFORM twtasks_internal.queue_trigger(own, 0::bigint, task.bucket, task.type, task.priority::smallint, task.size, task.run_after);
				stored.version := 0;
				stored.result := 'added';
				RETURN stored;
			END IF;
			DELETE FROM twtasks.task t WHERE t.id = own;
		END IF;
	END IF;
	-- An earlier task has this id, which we generated.
	IF task.key IS NOT NULL THEN
		RAISE EXCEPTION 'task "%" exists already with another key', own
			USING ERRCODE = 'unique_violation',
				HINT = 'Always give a task the same task_id and key, or only one of the two.';
	END IF;
	stored.version := twtasks_internal.find_version(own);
	stored.result := 'already_exists';
	RETURN stored;
END $$;
