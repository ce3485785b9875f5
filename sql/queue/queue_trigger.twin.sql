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
	bucket	text COLLATE "C" NOT NULL,	-- Bucket of the transaction's tasks
	setting	text COLLATE "C" NOT NULL	-- Setting that holds its triggers
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
 *		setting holds them, as it rolls back with a savepoint.  Too many lines say that
 *		the table is to be swept.  A tilde is before triggers of which one is due later.
 *
 * Wakes		after commit all sidecars of the bucket
 */
CREATE FUNCTION twtasks_internal.tell(bucket text, triggers text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A setting cannot have the name of each bucket.
	name CONSTANT text := 'twtasks_news.b' || md5(bucket);
	known CONSTANT text := nullif(current_setting(name, true), '');
	told text := 'sweep';
BEGIN
	IF triggers <> 'sweep' AND known IS DISTINCT FROM 'sweep' AND coalesce(octet_length(known), 0) + octet_length(triggers) < 7800 THEN
		told := concat(CASE WHEN triggers ~ '(?n)^([^ ]+ ){4}[1-9]' AND NOT coalesce(known ^@ '~', false) THEN '~' END, known || chr(10), triggers);
	END IF;
	-- The setting comes first, as after SET CONSTRAINTS the trigger fires at the end of this statement.
	told := set_config(name, told, true);
	IF known IS NULL THEN
		INSERT INTO twtasks_internal.news (bucket, setting) VALUES (bucket, name);
	END IF;
END $$;

/*
 * twtasks_internal.prepares(statements)
 *
 *		Whether one of the statements is PREPARE TRANSACTION.  Only the text can tell: until
 *		its triggers have fired, a prepare is to SQL as a commit.  Words in values, names
 *		and comments do not count.
 */
CREATE FUNCTION twtasks_internal.prepares(statements text)
RETURNS boolean
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A regular expression does not count, so it knows comments in comments up to a depth,
	-- and what it leaves of a deeper one counts as a PREPARE.
	comment text := '/[*](?:[^*/]|[*](?!/)|/(?![*]))*[*]/';
	backslash CONSTANT text := chr(92);
	-- a value with escapes
	value text := replace('''(?:[^''@]|@.|'''')*''(?!'')', '@', backslash || backslash);
BEGIN
	IF statements !~* 'prepare.*transaction' THEN
		RETURN false;
	END IF;
	FOR depth IN 2 .. 4 LOOP
		comment := concat('/[*](?:[^*/]|[*](?!/)|/(?![*])|', comment, ')*[*]/');
	END LOOP;
	IF current_setting('standard_conforming_strings') = 'on' THEN
		value := concat('(?<![[:alnum:]_$])[eE]', value, '|''[^'']*''');
	END IF;
	-- The first of these is taken at each place, up to its first end.
	statements := regexp_replace(statements, concat('(?:', concat_ws('|', comment, replace('--[^@]*(?![^@])', '@', chr(10) || chr(13)),
		value, '"[^"]*"', '(?<![[:alnum:]_])[$]([[:alpha:]_][[:alnum:]_]*|)[$].*?[$]' || backslash || '1[$]'), '){1,1}?'), ' ', 'g');
	RETURN statements ~* '(^|;)[[:space:]]*prepare[[:space:]]+transaction' OR strpos(statements, '/*') > 0;
END $$;

/*
 * twtasks_internal.only_commits(statements)
 *
 *		Whether the statements, at the end of which the triggers of a transaction fire,
 *		neither make constraints immediate nor prepare it.  Long ones are not looked at.
 */
CREATE FUNCTION twtasks_internal.only_commits(statements text)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN statements IS NULL OR octet_length(statements) <= 4000 AND statements !~* 'constraints|prepare.*transaction';
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
 *		CONSTRAINTS or in a function, sends its notification without a lock, as the
 *		transaction may go on for long.  So does one whose statement is too long to look for
 *		SET CONSTRAINTS.
 */
CREATE FUNCTION twtasks_internal.send_news()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- RESET ALL may have cleared it.
	triggers CONSTANT text := coalesce(nullif(current_setting(NEW.setting, true), ''), 'sweep');
	callers text;
	tells boolean := true;
	sent text;
BEGIN
	GET DIAGNOSTICS callers = PG_CONTEXT;
	-- PL/pgSQL prepares each expression again in each transaction, so there are few, with few calls.
	IF strpos(callers, chr(10)) = 0
		-- As in src/commit/commit.c: a look finds no task that is due later, and nobody may
		-- rely on a transaction that may still fail.
		AND triggers < 'g' COLLATE "C"
		AND current_setting('transaction_isolation') <> 'serializable' AND current_setting('lock_timeout') = '0'
		AND (octet_length(current_query()) <= 10 OR twtasks_internal.only_commits(current_query())) THEN
		WITH gone AS (DELETE FROM twtasks_internal.news n WHERE n.ctid = NEW.ctid)
		SELECT l.bucket INTO sent FROM twtasks_internal.news_lock l WHERE l.bucket = NEW.bucket FOR UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			tells := NOT EXISTS (SELECT FROM twtasks_internal.news_lock l WHERE l.bucket = NEW.bucket);
		END IF;
	ELSE
		DELETE FROM twtasks_internal.news n WHERE n.ctid = NEW.ctid;
		-- A prepared transaction cannot notify: a sweep finds its tasks.
		tells := current_setting('max_prepared_transactions') = '0' OR NOT twtasks_internal.prepares(coalesce(current_query(), ''));
	END IF;
	-- Another deferred trigger that adds a task inserts a row again.
	sent := concat(set_config(NEW.setting, '', true), CASE WHEN tells THEN pg_notify('twtasks', concat(NEW.bucket, chr(10), ltrim(triggers, '~'))) END);
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
