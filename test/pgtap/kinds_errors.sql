--
-- twtasks_kinds: functions of users that assert, cancel or take too long, and
-- answers of steps that are lost.  The answer of a step is kept, no other
-- identifier is stopped, and no action runs again without its search.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(53);
SET client_min_messages = error;

-- ---- kinds whose functions fail as the table says ----
CREATE TABLE public.regress_mood (name text PRIMARY KEY, how text);
INSERT INTO public.regress_mood SELECT n, 'fine' FROM unnest('{reaction,retry,fault,needed,expiry,uncertain,intercept}'::text[]) n;
CREATE FUNCTION public.regress_fail(wanted text) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
	CASE (SELECT how FROM regress_mood WHERE name = wanted)
	WHEN 'assert' THEN ASSERT false, 'it asserts';
	WHEN 'cancel' THEN RAISE EXCEPTION 'a remote statement was cancelled' USING ERRCODE = 'query_canceled';
	WHEN 'slow' THEN LOOP PERFORM 1; END LOOP;
	ELSE NULL;
	END CASE;
END $$;
CREATE FUNCTION public.regress_event(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('reaction'); RETURN event; END $$;
CREATE FUNCTION public.regress_retry(event jsonb, identifier text, attempts integer, fault text) RETURNS interval LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('retry'); RETURN CASE WHEN attempts < 2 THEN interval '0' END; END $$;
CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('fault'); RETURN '{"decision": "given up"}'; END $$;
CREATE FUNCTION public.regress_needed(event jsonb, identifier text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('needed'); RETURN (event->'needless') IS NULL; END $$;
CREATE FUNCTION public.regress_expiry(event jsonb, identifier text) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('expiry'); RETURN '{"decision": "needless"}'; END $$;
CREATE FUNCTION public.regress_uncertain(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('uncertain'); RETURN '{"decision": "unclear"}'; END $$;
CREATE FUNCTION public.regress_intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('intercept'); RETURN task; END $$;
SELECT twtasks.configure_kind('pay', 'pessimistic', 'PAY', 'pay-{/n}', delay => '0', retry_function => 'public.regress_retry', on_fault => 'public.regress_fault',
	still_needed => 'public.regress_needed', on_expiry => 'public.regress_expiry') \g /dev/null
SELECT twtasks.configure_kind('fax', 'black_boxed', 'FAX', 'fax-{/n}', delay => '0', on_uncertain => 'public.regress_uncertain', on_fault => 'public.regress_fault') \g /dev/null
SELECT twtasks.configure_kind('key', 'idempotent', 'KEY', 'key-{/n}', delay => '0') \g /dev/null
SELECT twtasks.configure_kind('book', 'optimistic', 'BOOK', 'book-{/n}', delay => '0') \g /dev/null
SELECT twtasks.configure_kind(k, 'idempotent', upper(k), k || '-{/n}') FROM unnest('{mail,note,ship}'::text[]) k \g /dev/null
SELECT twtasks.configure_type('PAY', intercept => 'public.regress_intercept') \g /dev/null
SELECT twtasks.on_outcome('pay', 'paid', 'mail'), twtasks.on_outcome('pay', 'paid', 'note', 'public.regress_event'), twtasks.on_outcome('pay', '*', 'ship', 'public.regress_event') \g /dev/null
UPDATE twtasks.kind SET identifier = 'mail-{/event/n}' WHERE name = 'mail';

-- Ends the step under way, whose handler said so, as a sidecar does.
CREATE FUNCTION pg_temp.say(identifiers text[], outcome jsonb, result text DEFAULT 'done') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ids CONSTANT uuid[] := ARRAY(SELECT o.task FROM unnest(identifiers) WITH ORDINALITY u(i, n) JOIN twtasks.outcome o ON o.identifier = u.i ORDER BY n);
	versions CONSTANT bigint[] := ARRAY(SELECT pg_temp.grab(i) FROM unnest(ids) i);
BEGIN
	RETURN (SELECT string_agg(f.status::text, ' ' ORDER BY array_position(ids, f.id)) FROM twtasks_internal.finish_tasks(ids, versions, ARRAY[result], '{0}', '{said}',
		pg_temp.node(), pg_temp.token(), outcomes => ARRAY[outcome]) f);
END $$;
CREATE FUNCTION pg_temp.is_at(wanted text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', coalesce('= ' || o.decision, o.step || o.attempt), CASE WHEN o.uncertain THEN 'uncertain' END, CASE WHEN o.status IN ('WAITING', 'SUBMITTED') THEN 'live' ELSE o.status::text END, ': ' || o.problem)
	FROM twtasks.outcomes o WHERE o.identifier = wanted $$;
CREATE FUNCTION pg_temp.task(wanted text) RETURNS uuid LANGUAGE sql AS $$ SELECT task FROM twtasks.outcomes WHERE identifier = wanted $$;
CREATE FUNCTION pg_temp.mood(wanted text, how text) RETURNS void LANGUAGE sql AS $$ UPDATE public.regress_mood SET how = mood.how WHERE name = wanted $$;
CREATE FUNCTION pg_temp.later() RETURNS void LANGUAGE sql AS $$
	UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
	SELECT twtasks_internal.run_duties() $$;
-- Starts an identifier and brings it to the step that acts.
CREATE FUNCTION pg_temp.at_attempt(kind text, n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	identifier CONSTANT text := kind || '-' || n;
BEGIN
	PERFORM twtasks.start(kind, jsonb_build_object('n', n));
	IF kind = 'pay' THEN
		PERFORM pg_temp.say(ARRAY[identifier], '{"found": false}');
	END IF;
	RETURN identifier;
END $$;
SET twtasks.function_timeout = '1s';

-- ---- a payment was made, and what follows it fails ----
SELECT pg_temp.mood('reaction', how), pg_temp.at_attempt('pay', n) FROM (VALUES (1, 'assert'), (2, 'cancel'), (3, 'slow')) u(n, how) WHERE n = 1 \g /dev/null
SELECT is(pg_temp.say('{pay-1}', '{"decision": "paid"}'), 'DONE', 'a payment whose reaction asserts is done');
SELECT is(pg_temp.is_at('pay-1'), '= paid : it asserts', '... its answer is kept, and the failure shown');
SELECT is(pg_temp.is_at('mail-1'), 'attempt1 live', '... and another reaction has started');
SELECT is((SELECT array_agg(broken) FROM twtasks.broken_outcomes WHERE identifier = 'pay-1'), '{"what its outcome starts fails: it asserts"}', '... the identifier stands still, and says so');
SELECT pg_temp.later() \g /dev/null
SELECT is(pg_temp.is_at('pay-1'), '= paid : it asserts', 'a reaction that fails again is tried again');
SELECT pg_temp.mood('reaction', 'slow'), pg_temp.later() \g /dev/null
SELECT is(pg_temp.is_at('pay-1'), '= paid : function "public.regress_event" took too long', 'a reaction that takes too long is its identifier''s problem');
SELECT pg_temp.mood('reaction', 'fine'), pg_temp.later() \g /dev/null
SELECT is(ARRAY[pg_temp.is_at('pay-1'), pg_temp.is_at('note-1'), pg_temp.is_at('ship-1')], '{= paid,attempt1 live,attempt1 live}', 'a reaction that is repaired starts what it should');
SELECT is((SELECT count(*) FROM twtasks.attempts WHERE identifier = 'pay-1' AND step = 'attempt'), 1::bigint, 'the payment was made once');

-- ---- each function of a kind, in a statement with others ----
CREATE FUNCTION pg_temp.try(function text, how text, n integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	kind CONSTANT text := CASE WHEN function = 'uncertain' THEN 'fax' ELSE 'pay' END;
	mine CONSTANT text := pg_temp.at_attempt(kind, n);
	other CONSTANT text := pg_temp.at_attempt('key', n);
	reached text;
BEGIN
	IF function = 'needed' OR function = 'expiry' THEN
		PERFORM pg_temp.say(ARRAY[mine], '{}', 'error');
		UPDATE twtasks.outcome SET event = event || '{"needless": true}' WHERE identifier = mine AND function = 'expiry';
	ELSIF function = 'fault' THEN
		PERFORM pg_temp.say(ARRAY[mine], '{}', 'error'), pg_temp.say(ARRAY[mine], '{"found": false}'), pg_temp.say(ARRAY[mine], '{}', 'error');
	END IF;
	PERFORM pg_temp.mood(function, how);
	PERFORM pg_temp.say(ARRAY[other, mine], CASE WHEN function IN ('needed', 'expiry', 'fault') THEN '{"found": false}' ELSE '{"decision": 5}' END::jsonb);
	reached := concat_ws(', ', pg_temp.is_at(mine), pg_temp.is_at(other));
	PERFORM pg_temp.mood(function, 'fine'), pg_temp.later();
	RETURN concat_ws(', ', reached, pg_temp.is_at(mine));
END $$;
SELECT is(pg_temp.try(function, how, 10 * n + m),
	replace(format('%s : %s, %s, %s', at, problem, CASE WHEN function IN ('needed', 'expiry', 'fault') THEN '= done' ELSE 'attempt2 uncertain live' END, after), 'public.regress_X', 'public.regress_' || function),
	format('%s: %s', function, how))
FROM (VALUES
	(1, 'retry',		'attempt1',	'find2 live'),
	(2, 'needed',		'find2',	'attempt2 live'),
	(3, 'expiry',		'find2',	'= needless'),
	(4, 'fault',		'find3',	'= given up'),
	(5, 'uncertain',	'attempt1',	'= unclear uncertain'),
	(6, 'intercept',	'attempt1',	'find2 live')) f(n, function, at, after),
	(VALUES (1, 'assert', 'it asserts'), (2, 'cancel', 'a remote statement was cancelled'), (3, 'slow', 'function "public.regress_X" took too long')) h(m, how, problem);

-- ---- a cancel from outside ----
SELECT pg_temp.mood('reaction', 'slow'), pg_temp.at_attempt('pay', 100) \g /dev/null
SET twtasks.function_timeout = '60 s';		-- the cancel comes first, on a busy machine too
CREATE FUNCTION pg_temp.cancelled(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN false;
EXCEPTION WHEN query_canceled THEN
	RETURN true;
END $$;
SET statement_timeout = '200ms';
SELECT ok(pg_temp.cancelled($$SELECT twtasks.decide_by_hand('pay', 'pay-100', '{"decision": "paid"}', 'x')$$), 'a person who waits for a slow reaction may cancel');
RESET statement_timeout;
SELECT is(pg_temp.is_at('pay-100'), 'attempt1 live', '... and nothing is done');
SET statement_timeout = '200ms';
SELECT ok(pg_temp.cancelled($$SELECT pg_temp.say('{pay-100}', '{"decision": "paid"}')$$), 'so may the finish of a step');
RESET statement_timeout;
SELECT pg_temp.mood('reaction', 'fine') \g /dev/null
RESET twtasks.function_timeout;

-- ---- the answer of a step is lost ----
CREATE FUNCTION public.regress_lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ASSERT NEW.identifier !~ '-2..$', 'lost'; RETURN NEW; END $$;
CREATE TRIGGER regress_lose BEFORE UPDATE ON twtasks.attempt FOR EACH ROW EXECUTE FUNCTION public.regress_lose();
SELECT pg_temp.at_attempt(k, n) FROM unnest('{pay,fax,key,book}'::text[]) k, generate_series(200, 203) n WHERE k <> 'pay' \g /dev/null
ALTER TABLE twtasks.attempt DISABLE TRIGGER regress_lose;
SELECT pg_temp.at_attempt('pay', n) FROM generate_series(200, 203) n \g /dev/null
ALTER TABLE twtasks.attempt ENABLE TRIGGER regress_lose;
SELECT pg_temp.at_attempt('key', 300) \g /dev/null
SELECT is(pg_temp.say('{pay-200,fax-200,key-300,key-200,book-200}', '{"decision": "paid"}'), 'ERROR ERROR DONE ERROR ERROR', 'a failure of ours puts the step alone in ERROR');
SELECT pg_temp.say(ARRAY[k || '-' || n], '{"decision": "paid"}') FROM unnest('{pay,fax,key,book}'::text[]) k, generate_series(201, 203) n \g /dev/null
ALTER TABLE twtasks.attempt DISABLE TRIGGER regress_lose;
SELECT matches(pg_temp.is_at('pay-200'), '^attempt1 ERROR : it became DONE, but function .* failed: lost', '... and the problem is shown');
SELECT is((SELECT count(*) FROM twtasks.broken_outcomes WHERE identifier ~ '-20.$' AND broken ~ 'is ERROR: it became DONE'), 16::bigint, '... where people look');
SELECT is((twtasks.resume_task(pg_temp.task(i), NULL, 'x')).status::text || ', ' || pg_temp.is_at(i), becomes, format('%s: a person lets it go on', i))
FROM (VALUES ('pay-200', 'FAILED, find2 live'), ('book-200', 'FAILED, look2 live'), ('fax-200', 'FAILED, = unclear uncertain'), ('key-200', 'WAITING, attempt1 live')) u(i, becomes);
SELECT is((SELECT count(*) FROM twtasks.tasks t JOIN twtasks.attempts a ON a.task = t.id WHERE a.identifier = 'pay-200' AND a.step = 'attempt' AND t.status NOT IN ('FAILED')), 0::bigint, 'the attempt cannot run again');
SELECT twtasks.fail_task(pg_temp.task(k || '-201'), NULL, 'x') FROM unnest('{pay,fax,key,book}'::text[]) k \g /dev/null
SELECT is(pg_temp.is_at(i), becomes, format('%s: a person gives it up', i))
FROM (VALUES ('pay-201', 'find2 live'), ('book-201', 'look2 live'), ('fax-201', '= unclear uncertain'), ('key-201', '= failed uncertain')) u(i, becomes);
SELECT twtasks.hold_task(pg_temp.task(k || '-202'), NULL, 'x'), twtasks.release_task(pg_temp.task(k || '-202'), NULL, now(), 'x') FROM unnest('{pay,fax,key,book}'::text[]) k \g /dev/null
SELECT is(pg_temp.is_at(i), becomes, format('%s: a person holds and releases it', i))
FROM (VALUES ('pay-202', 'find2 live'), ('book-202', 'look2 live'), ('fax-202', '= unclear uncertain'), ('key-202', 'attempt1 live')) u(i, becomes);
SELECT twtasks.cancel_task(pg_temp.task('key-202'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.is_at('key-202'), '= cancelled uncertain', 'an idempotent action that may have been done is uncertain');
SELECT twtasks.change_tasks('resume', '*', 'x') \g /dev/null
SELECT is((SELECT array_agg(pg_temp.is_at(k || '-203') ORDER BY k) FROM unnest('{pay,fax,key,book}'::text[]) k),
	'{look2 live,= unclear uncertain,attempt1 live,find2 live}', 'so when a person lets everything go on');

-- ---- what surely did nothing may run again, once ----
SELECT twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}', attempts => 1, on_uncertain => 'public.regress_uncertain') \g /dev/null
SELECT pg_temp.at_attempt('box', 1), pg_temp.say('{box-1}', '{"fault": "no"}', 'error') \g /dev/null
SELECT is(pg_temp.is_at('box-1'), 'attempt1 ERROR : no attempt is left, and no function decides', 'a black box without on_fault waits for a person');
SELECT is((twtasks.resume_task(pg_temp.task('box-1'), NULL, 'x')).status, 'WAITING', 'a person may let it run again');
SELECT is(pg_temp.is_at('box-1'), 'attempt1 live', '... and the problem is gone');
-- That run is over, and its answer lost.
UPDATE twtasks.task SET status = 'ERROR', tries = 1, queued = false, next_event_time = 'infinity' WHERE id = pg_temp.task('box-1');
SELECT twtasks.resume_task(pg_temp.task('box-1'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.is_at('box-1'), '= unclear uncertain', '... but not after that run, whose answer is lost');

-- ---- the duty ----
SELECT pg_temp.mood('uncertain', 'assert'), pg_temp.at_attempt('fax', n) FROM generate_series(400, 402) n \g /dev/null
SELECT pg_temp.say('{fax-400,fax-401,fax-402}', '{}', 'error') \g /dev/null
SELECT twtasks.hold_task(pg_temp.task('fax-402'), NULL, 'x'), pg_temp.mood('uncertain', 'fine') \g /dev/null
CREATE FUNCTION public.regress_stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ASSERT NEW.identifier <> 'fax-400', 'stop'; RETURN NEW; END $$;
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
CREATE TRIGGER regress_stop BEFORE UPDATE ON twtasks.outcome FOR EACH ROW EXECUTE FUNCTION public.regress_stop();
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is((SELECT array_agg(pg_temp.is_at('fax-' || n) ORDER BY n) FROM generate_series(400, 402) n),
	'{"attempt1 ERROR : it asserts","= unclear uncertain","attempt1 HELD : it asserts"}', 'an identifier that cannot be changed stops no other, and one that is held waits');
DROP TRIGGER regress_stop ON twtasks.outcome;
SELECT twtasks.release_task(pg_temp.task('fax-402'), NULL, NULL, 'x'), pg_temp.later() \g /dev/null
SELECT is((SELECT array_agg(pg_temp.is_at('fax-' || n) ORDER BY n) FROM generate_series(400, 402) n),
	'{= unclear uncertain,= unclear uncertain,= unclear uncertain}', 'both go on afterwards');
SELECT * FROM finish();
ROLLBACK;
