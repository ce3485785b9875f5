--
-- Limits of the whole cluster against a naive model: random tasks are grabbed
-- by random nodes, end in random ways, and the limits change meanwhile.  The
-- model knows what runs and what has started when, and counts.
--
-- Each run is another history; TWT_TEST_SEED, a number that a failure names,
-- repeats one.
--
-- Time is what we shift the clock by: ticks so long that what passes by itself
-- is nothing.
--
\ir ../lib/tasks.sql
\set seed `echo "${TWT_TEST_SEED:-$(date +%s)}"`
SET twtasks.testing = on;
SELECT plan(3);
TRUNCATE twtasks.slot_use, twtasks.limit_rule;

CREATE TEMPORARY TABLE model_rule (pattern text PRIMARY KEY, most integer, stretch integer, urgent integer,
	rate integer, ticks integer, burst integer);
CREATE TEMPORARY TABLE model_run (id uuid PRIMARY KEY, type text, node integer);
CREATE TEMPORARY TABLE model_start (type text, tick integer);
CREATE TEMPORARY TABLE model_clock AS SELECT 0 AS tick;
CREATE TEMPORARY TABLE model_node (number integer PRIMARY KEY, incarnation bigint);
INSERT INTO model_node SELECT n, twtasks_internal.start_node('node ' || n, lease => '10 days') FROM generate_series(1, 3) n;

-- 0 .. n - 1
CREATE FUNCTION pg_temp.below(n integer) RETURNS integer LANGUAGE sql
AS $$ SELECT floor(random() * n)::integer $$;
CREATE FUNCTION pg_temp.one_of(VARIADIC items text[]) RETURNS text LANGUAGE sql
AS $$ SELECT items[1 + pg_temp.below(cardinality(items))] $$;

-- Returns the name by which a limit counts a type; NULL if it does not count it.
CREATE FUNCTION pg_temp.counted_as(pattern text, type text) RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
	body text := rtrim(pattern, '*');
	key text;
BEGIN
	IF body = pattern THEN
		RETURN CASE WHEN type = pattern OR starts_with(type, pattern || '|') THEN pattern END;
	ELSIF NOT starts_with(type, body) THEN
		RETURN NULL;
	ELSIF body !~ '[|]$' THEN
		RETURN pattern;
	END IF;
	-- each key for itself, unless it has a limit of its own
	key := body || split_part(substr(type, length(body) + 1), '|', 1);
	RETURN CASE WHEN NOT EXISTS (SELECT FROM model_rule r WHERE r.pattern = key) THEN key END;
END $$;

-- In any time there may be a burst, and the rate's part of that time: so from
-- each start up to now, the new one included.
CREATE FUNCTION pg_temp.rate_allows(r model_rule, name text) RETURNS boolean LANGUAGE sql
AS $$
	SELECT coalesce(bool_and((s.n + 1 - r.burst) * r.ticks <= (c.tick - s.tick) * r.rate), true)
	FROM (SELECT m.tick, sum(count(*)) OVER (ORDER BY m.tick DESC) AS n
		  FROM model_start m WHERE pg_temp.counted_as(r.pattern, m.type) = name
		  GROUP BY m.tick) s, model_clock c
$$;

CREATE FUNCTION pg_temp.may_run(asked text, priority integer) RETURNS boolean LANGUAGE sql
AS $$
	SELECT coalesce(bool_and(
		(r.most IS NULL OR
			(SELECT count(*) FROM model_run m WHERE pg_temp.counted_as(r.pattern, m.type) = n.name)
			< r.most + CASE WHEN priority <= r.urgent THEN r.stretch ELSE 0 END)
		AND (r.rate IS NULL OR pg_temp.rate_allows(r, n.name))), true)
	FROM model_rule r CROSS JOIN LATERAL (SELECT pg_temp.counted_as(r.pattern, asked) AS name OFFSET 0) n
	WHERE n.name IS NOT NULL
$$;

-- Compares all answers of a call with the model's, in order, and returns the
-- differences.
CREATE FUNCTION pg_temp.grab_some() RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
	node model_node;
	asked record;
	answers jsonb;				-- by id: what refused it, null: nothing
	ids uuid[];
	versions bigint[];
BEGIN
	SELECT * INTO node FROM model_node ORDER BY random() LIMIT 1;
	SELECT array_agg(t.id), array_agg(t.version) INTO ids, versions
	FROM (SELECT id, version FROM twtasks.task WHERE status = 'SUBMITTED' ORDER BY random() LIMIT 1 + pg_temp.below(6)) t;
	SELECT coalesce(jsonb_object_agg(g.id, CASE WHEN g.version IS NULL THEN g.type || coalesce(' until ' || g.grabbed, '') END), '{}')
	INTO answers
	FROM twtasks_internal.grab_tasks(ids, versions, node.incarnation, pg_temp.token(), '{864000000}', '{retry}') g;
	FOR asked IN
		SELECT t.id, t.type, t.priority, answers ->> t.id::text AS refused_by, answers ? t.id::text AS is_there FROM unnest(ids) WITH ORDINALITY u(id, place)
		JOIN twtasks.task t ON t.id = u.id ORDER BY t.priority, u.place
	LOOP
		IF NOT asked.is_there OR pg_temp.may_run(asked.type, asked.priority) <> (asked.refused_by IS NULL) THEN
			RETURN format('%s with priority %s %s', asked.type, asked.priority,
						  CASE WHEN NOT asked.is_there THEN 'is not there' ELSE coalesce('is refused by ' || asked.refused_by, 'runs') END);
		ELSIF asked.refused_by IS NULL THEN
			INSERT INTO model_run VALUES (asked.id, asked.type, node.number);
			INSERT INTO model_start SELECT asked.type, c.tick FROM model_clock c;
		END IF;
	END LOOP;
	RETURN NULL;
END $$;

CREATE FUNCTION pg_temp.end_some() RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
	one model_run;
BEGIN
	FOR one IN SELECT * FROM model_run ORDER BY random() LIMIT pg_temp.below(4) LOOP
		PERFORM FROM twtasks.task t, twtasks_internal.finish_tasks(ARRAY[t.id], ARRAY[t.version],
			ARRAY[pg_temp.one_of('done', 'delete', 'error', 'release', 'accepted')], '{0}', '{NULL}', t.incarnation, t.token)
		WHERE t.id = one.id;
		DELETE FROM model_run m WHERE m.id = one.id;
	END LOOP;
END $$;

-- A node ends, with all that it runs, and starts again.
CREATE FUNCTION pg_temp.end_node() RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
	which integer := 1 + pg_temp.below(3);
BEGIN
	PERFORM twtasks_internal.end_node(n.incarnation) FROM model_node n WHERE n.number = which;
	DELETE FROM model_run m WHERE m.node = which;
	UPDATE model_node n SET incarnation = twtasks_internal.start_node('node ' || which, lease => '10 days') WHERE n.number = which;
	PERFORM twtasks_internal.recover_tasks();
END $$;

CREATE FUNCTION pg_temp.configure(r model_rule) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	DELETE FROM model_rule m WHERE m.pattern = r.pattern;
	INSERT INTO model_rule SELECT r.*;
	PERFORM twtasks.configure_limit(r.pattern, r.most, 'cluster', nullif(r.stretch, 0), CASE WHEN r.stretch > 0 THEN r.urgent END,
		rate => r.rate, per => coalesce(r.ticks, 1) * interval '10 min', burst => r.burst);
END $$;

-- A rate stays as it is, and so does the limit that has it: what a change means
-- for what was before is not in the model.  Nor is it what becomes of the starts
-- of a key that gets a limit of its own.
CREATE FUNCTION pg_temp.change_rule() RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
	which text := pg_temp.one_of('*', 'A*', 'A', 'A|*', 'A|x', 'A|x|*', 'AB', 'B|*', 'B|y', 'C', 'B*');
	r model_rule := ROW(which, pg_temp.below(5), 1 + pg_temp.below(3), pg_temp.below(4), NULL, NULL, NULL);
BEGIN
	IF pg_temp.below(2) = 0 THEN
		r.stretch := 0;
	END IF;
	SELECT m.rate, m.ticks, m.burst INTO r.rate, r.ticks, r.burst FROM model_rule m WHERE m.pattern = which;
	IF r.rate IS NOT NULL AND pg_temp.below(3) = 0 THEN
		r.most := NULL;
		r.stretch := 0;
	ELSIF pg_temp.below(3) = 0 AND r.rate IS NULL THEN
		DELETE FROM model_rule m WHERE m.pattern = which;
		PERFORM twtasks.drop_limit(which);
		RETURN;
	END IF;
	PERFORM pg_temp.configure(r);
END $$;

CREATE FUNCTION pg_temp.make_rates() RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
	pattern text;
BEGIN
	FOREACH pattern IN ARRAY '{*,A*,A,A|x|*,AB,C,B*}'::text[] LOOP
		IF pg_temp.below(3) = 0 THEN
			PERFORM pg_temp.configure((pattern, NULL, 0, 0, 1 + pg_temp.below(3), 1 + pg_temp.below(3), 1 + pg_temp.below(8))::model_rule);
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION pg_temp.pass_time() RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
	ticks integer := 1 + pg_temp.below(3);
BEGIN
	UPDATE model_clock SET tick = tick + ticks;
	PERFORM twtasks.set_clock(twtasks.clock() + ticks * interval '10 min');
END $$;

CREATE FUNCTION pg_temp.take_step() RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
	choice integer := pg_temp.below(100);
BEGIN
	PERFORM twtasks.add_task(pg_temp.one_of('A', 'A|x', 'A|y', 'A|x|1', 'A|x|2', 'AB', 'AB|x', 'B', 'B|x', 'B|y', 'C'),
							 priority => pg_temp.below(5)) FROM generate_series(1, 2);
	IF choice < 50 THEN
		RETURN pg_temp.grab_some();
	ELSIF choice < 76 THEN
		PERFORM pg_temp.end_some();
	ELSIF choice < 78 THEN
		PERFORM pg_temp.end_node();
	ELSIF choice < 80 THEN
		PERFORM twtasks_internal.clean_slots('0');
	ELSIF choice < 92 THEN
		PERFORM pg_temp.pass_time();
	ELSE
		PERFORM pg_temp.change_rule();
	END IF;
	RETURN NULL;
END $$;

CREATE PROCEDURE pg_temp.play(steps integer, INOUT difference text) LANGUAGE plpgsql
AS $$
BEGIN
	FOR step IN 1 .. steps LOOP
		difference := pg_temp.take_step();
		COMMIT;
		IF difference IS NOT NULL THEN
			difference := format('step %s: %s; limits: %s; tick: %s, at %s', step, difference,
				(SELECT jsonb_agg(r) FROM model_rule r), (SELECT tick FROM model_clock), twtasks.clock());
			RETURN;
		END IF;
	END LOOP;
	difference := 'none';
END $$;

SELECT setseed(mod(:seed, 1000000) / 1000000.0) \g /dev/null
SELECT diag('TWT_TEST_SEED=' || :seed);
SELECT pg_temp.make_rates() \g /dev/null
CALL pg_temp.play(250, NULL) \gset
SELECT is(:'difference'::text, 'none', 'the same tasks run and are refused as in the model, TWT_TEST_SEED=' || :seed);
SELECT cmp_ok((SELECT count(*) FROM model_start), '>', 5::bigint, 'some tasks ran');
SELECT is((SELECT count(*) FROM twtasks.limits l WHERE l.used IS DISTINCT FROM
		   (SELECT count(*) FROM model_run m WHERE pg_temp.counted_as(l.pattern, m.type) = l.name)
		   AND l.name IS NOT NULL AND l.concurrency IS NOT NULL),
	0::bigint, 'the view counts the slots as the model does');

SELECT twtasks_internal.end_node(n.incarnation) FROM model_node n \g /dev/null
SELECT twtasks.set_clock(NULL) \g /dev/null
TRUNCATE twtasks.slot_use, twtasks.limit_rule, twtasks.task, twtasks.finished_task;
SELECT * FROM finish();
