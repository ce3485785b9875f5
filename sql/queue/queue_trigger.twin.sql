-- before:
/*
 * twtasks_internal.trigger_line(id, version, priority, size, due, type)
 *
 *		A trigger as a line of a notification: see trigger_encode().
 */
CREATE FUNCTION twtasks_internal.trigger_line(id uuid, version bigint, priority integer, size integer, due timestamptz, type text)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- PL/pgSQL keeps the plan for the next transaction.
	RETURN concat_ws(' ', id, version, priority, size,
		CASE WHEN due > clock_timestamp() THEN least(extract(epoch FROM due) * 1000000, 9223372036854775807)::bigint ELSE 0 END, type);
END $$;

/* A row that its transaction removes again at the commit: its trigger sends the triggers. */
CREATE UNLOGGED TABLE twtasks_internal.news (
	bucket	text COLLATE "C" NOT NULL	-- Bucket of the transaction's tasks
);
COMMENT ON TABLE twtasks_internal.news IS 'Transactions with triggers to send at their commit: see send_news()';

/* Buckets whose sidecars look again after news. */
CREATE TABLE twtasks_internal.news_lock (
	bucket	text COLLATE "C" NOT NULL,	-- Name of the bucket
	CONSTRAINT news_lock_pkey PRIMARY KEY (bucket)
);
COMMENT ON TABLE twtasks_internal.news_lock IS 'A row for each bucket: the transaction whose notification is on its way has locked it';

/*
 * twtasks_internal.tell(bucket, triggers)
 *
 *		Adds triggers, a line for each, to what this transaction sends at its commit.  A
 *		setting holds them, as it rolls back with a savepoint: the place of the row in
 *		news, then the lines.  Too many lines say that the table is to be swept.
 *
 * Wakes		after commit all sidecars of the bucket
 */
CREATE FUNCTION twtasks_internal.tell(bucket text, triggers text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	-- A setting cannot have the name of each bucket.
	name CONSTANT text := 'twtasks_news.b' || md5(bucket);
	known text := current_setting(name, true);
BEGIN
	IF known <> '' THEN
		IF right(known, 6) <> chr(10) || 'sweep' THEN
			known := set_config(name, CASE WHEN octet_length(known) + octet_length(triggers) < 7800 THEN known || chr(10) || triggers
				ELSE split_part(known, chr(10), 1) || chr(10) || 'sweep' END, true);
		END IF;
	ELSE
		-- The setting comes first, as after SET CONSTRAINTS the trigger fires at the end of this statement.
		INSERT INTO twtasks_internal.news AS n (bucket) VALUES (bucket)
		RETURNING set_config(name, concat(n.ctid, chr(10), triggers), true) INTO known;
	END IF;
END $$;

/*
 * twtasks_internal.prepares(query)
 *
 *		Whether one of its statements is PREPARE TRANSACTION, whatever comments it has.
 */
CREATE FUNCTION twtasks_internal.prepares(query text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before text;
BEGIN
	LOOP	-- the innermost comments first
		before := query;
		query := regexp_replace(query, '/[*](?:[^*/]|[*](?!/)|/(?![*]))*[*]/', ' ', 'g');
		EXIT WHEN query = before;
	END LOOP;
	RETURN regexp_replace(query, concat('--[^', chr(10), chr(13), ']*'), ' ', 'g') ~* '(^|;)[[:space:]]*prepare[[:space:]]+transaction';
END $$;

/*
 * twtasks_internal.send_news()
 *
 *		Sends the triggers of the transaction for the bucket of the row, unless the
 *		notification of another one is on its way: see src/commit/news.h.
 *
 *		lock in the edition				held by
 *		the bucket's row of news_lock	the transaction whose notification is on its way
 *		the table, ROW SHARE			late transactions: each that comes to read such a row
 *
 *		A transaction that has committed holds neither, and only the owner can take them.
 *		The row locks only at the commit itself.  A trigger that fires before, by SET
 *		CONSTRAINTS or in a function, sends its notification without a lock.
 */
CREATE FUNCTION twtasks_internal.send_news()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	name CONSTANT text := 'twtasks_news.b' || md5(NEW.bucket);
	known CONSTANT text := current_setting(name, true);
	triggers CONSTANT text := CASE WHEN known <> '' THEN substr(known, strpos(known, chr(10)) + 1) ELSE 'sweep' END;
	statement CONSTANT text := coalesce(left(current_query(), 4000), '');
	prepares CONSTANT boolean := statement ~* 'prepare' AND twtasks_internal.prepares(statement);
	callers text;
	relies boolean;
	is_on_its_way boolean;
BEGIN
	GET DIAGNOSTICS callers = PG_CONTEXT;
	IF strpos(callers, chr(10)) > 0 OR statement ~* 'constraints' THEN
		PERFORM set_config(name, '', true);		-- the transaction may go on
	ELSE
		-- As in src/commit/commit.c: a look finds no task that is due later, and nobody may
		-- rely on a transaction that may still fail.
		relies := NOT prepares AND triggers <> 'sweep' AND triggers !~ '(?n)^([^ ]+ ){4}[1-9]'
			AND current_setting('transaction_isolation') <> 'serializable' AND current_setting('lock_timeout') = '0';
	END IF;
	WITH gone AS (DELETE FROM twtasks_internal.news n WHERE n.ctid = nullif(split_part(known, chr(10), 1), '')::tid)
	SELECT l.bucket IS NULL INTO is_on_its_way
	FROM twtasks_internal.news_lock n
	LEFT JOIN LATERAL (SELECT o.bucket FROM twtasks_internal.news_lock o WHERE o.bucket = n.bucket FOR UPDATE SKIP LOCKED) l ON true
	WHERE n.bucket = NEW.bucket AND relies;
	IF is_on_its_way
		-- A prepared transaction cannot notify: a sweep finds its tasks.
		OR prepares THEN
		RETURN NULL;
	END IF;
	PERFORM pg_notify('twtasks', concat(NEW.bucket, chr(10), triggers));
	RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER send_news AFTER INSERT ON twtasks_internal.news
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION twtasks_internal.send_news();

-- twin: twt_queue_trigger LANGUAGE plpgsql
BEGIN
	-- Its callers count the calls, so its result must not be null.
	IF twtasks.is_enabled() THEN
		PERFORM twtasks_internal.tell(bucket, twtasks_internal.trigger_line(id, version, priority, size, due, type));
	END IF;
END
