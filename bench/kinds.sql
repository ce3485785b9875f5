--
-- kinds.sql -- see kinds, which runs it.
--
SET client_min_messages = error;
SELECT twtasks_internal.start_node('bench') AS node \gset
SELECT set_config('bench.node', :'node', false), set_config('bench.steps', :'steps', false), set_config('bench.batch', :'batch', false) \g /dev/null
CREATE TEMPORARY SEQUENCE token;
CREATE SCHEMA shop;

-- Functions of a user, which take no time themselves.
CREATE FUNCTION shop.needed(event jsonb, identifier text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT true';
CREATE FUNCTION shop.ask(event jsonb, identifier text, started timestamptz) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT '{"decision": "unclear"}'::jsonb $$;
CREATE FUNCTION shop.next_event(event jsonb, identifier text, outcome jsonb) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT event';

SELECT twtasks.configure_kind(k::text, k, upper(k::text), k || '-{/order}', on_uncertain => CASE k WHEN 'black_boxed' THEN 'shop.ask' END)
FROM unnest('{idempotent,pessimistic,black_boxed,optimistic}'::twtasks.task_kind[]) k \g /dev/null
SELECT twtasks.configure_kind('asked', 'idempotent', 'ASKED', 'asked-{/order}', expires => '1 day', still_needed => 'shop.needed') \g /dev/null
SELECT twtasks.configure_kind('then', 'idempotent', 'THEN', 'then-{/order}') \g /dev/null
SELECT twtasks.configure_kind('reacts', 'idempotent', 'REACTS', 'reacts-{/order}') \g /dev/null
SELECT twtasks.on_outcome('reacts', 'paid', 'then', 'shop.next_event') \g /dev/null

-- Nanoseconds of this process on a processor.
CREATE FUNCTION pg_temp.spent() RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;

CREATE TEMPORARY TABLE measured (place serial, name text, start_us numeric, end_us numeric);

-- Starts identifiers, and ends the first step of each with that outcome.  A plain
-- task if kind is NULL.
CREATE PROCEDURE pg_temp.measure(name text, kind text, outcome jsonb, steps integer)
LANGUAGE plpgsql
AS $$
#variable_conflict use_variable
DECLARE
	batch CONSTANT integer := current_setting('bench.batch');
	node CONSTANT bigint := current_setting('bench.node');
	type CONSTANT text := coalesce(upper(kind), 'PLAIN');
	ids uuid[];
	part uuid[];
	since bigint;
	starts bigint;
	ends bigint := 0;
BEGIN
	since := pg_temp.spent();
	FOR n IN 1 .. steps LOOP
		IF kind IS NULL THEN
			PERFORM FROM twtasks.add_task('PLAIN', jsonb_build_object('order', n, 'amount', 30));
		ELSE
			PERFORM twtasks.start(kind, jsonb_build_object('order', n, 'amount', 30));
		END IF;
		IF n % batch = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
	COMMIT;
	starts := pg_temp.spent() - since;
	SELECT array_agg(t.id ORDER BY t.created) INTO ids FROM twtasks.task t WHERE t.type = type AND t.status = 'SUBMITTED';
	ASSERT cardinality(ids) = steps, 'all have a task';
	FOR lower IN 1 .. steps BY batch LOOP
		part := ids[lower : lower + batch - 1];
		PERFORM twtasks_internal.grab_tasks(part, ARRAY[0], node, nextval('token'), '{60000}', '{error}');
		COMMIT;
		since := pg_temp.spent();
		PERFORM twtasks_internal.finish_tasks(part, ARRAY[1], ARRAY[CASE WHEN outcome IS NULL AND kind IS NOT NULL THEN 'error' ELSE 'done' END],
			'{0}', ARRAY[NULL], node, nextval('token'), outcomes => ARRAY[outcome]);
		COMMIT;
		ends := ends + pg_temp.spent() - since;
	END LOOP;
	ASSERT NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = ANY (ids)), 'all steps have ended';
	ASSERT NOT EXISTS (SELECT FROM twtasks.outcome o WHERE o.problem IS NOT NULL), 'all identifiers go on';
	-- The next case finds tables of the same size.
	TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key, twtasks.outcome, twtasks.attempt;
	COMMIT;
	INSERT INTO measured (name, start_us, end_us) VALUES (name, round(starts / 1000.0 / steps, 1), round(ends / 1000.0 / steps, 1));
	COMMIT;
END $$;

-- The first time fills the caches of the session.
SELECT format('CALL pg_temp.measure(%L, %L, %L, %s);', w.name, w.kind, w.outcome, s.steps)
FROM (VALUES (1, 5 * current_setting('bench.batch')::integer), (2, current_setting('bench.steps')::integer)) s(time, steps),
	(VALUES (1, 'plain', NULL, '{}'),
			(2, 'idempotent:decided', 'idempotent', '{"decision": "paid"}'),
			(3, 'idempotent:again', 'idempotent', NULL),
			(4, 'pessimistic:not_found', 'pessimistic', '{"found": false}'),
			(5, 'black_boxed:uncertain', 'black_boxed', NULL),
			(6, 'optimistic:done', 'optimistic', '{}'),
			(7, 'asked:again', 'asked', '{"fault": "declined"}'),
			(8, 'reacts:decided', 'reacts', '{"decision": "paid"}')) w(place, name, kind, outcome)
ORDER BY s.time, w.place \gexec
SELECT name, start_us, end_us FROM measured WHERE place > (SELECT max(place) / 2 FROM measured) ORDER BY place;
