--
-- The audit of policies, buckets, limits and pauses names the actor and the old
-- values: one row for each object that a call changes, and none for no change.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(40);
TRUNCATE twtasks.policy_audit;
CREATE ROLE regress_operator IN ROLE twtasks_operator;
CREATE ROLE regress_alice;
CREATE SCHEMA theirs;
GRANT USAGE ON SCHEMA theirs TO PUBLIC;
CREATE FUNCTION theirs.open(pattern text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks.configure_type(pattern, stuck => 'retry'), twtasks.configure_limit(pattern, 0); SELECT twtasks.pause_type(pattern) $$;
ALTER FUNCTION theirs.open OWNER TO regress_operator;

-- Returns the audit rows of a statement of that role, with the actor only if it
-- is not the session's user.
CREATE FUNCTION pg_temp.noted(statement text, role text DEFAULT 'regress_operator') RETURNS jsonb
LANGUAGE plpgsql
AS $$
DECLARE
	seen CONSTANT bigint := coalesce(max(id), 0) FROM twtasks.policy_audit;
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	EXECUTE statement;
	RESET ROLE;
	RETURN jsonb_agg(jsonb_build_array(kind, name, before, after) || CASE WHEN actor <> session_user THEN to_jsonb(actor) ELSE '[]' END ORDER BY id)
	FROM twtasks.policy_audit WHERE id > seen;
EXCEPTION WHEN raise_exception OR invalid_parameter_value OR unique_violation THEN
	RESET ROLE;
	RETURN to_jsonb(count(*)) FROM twtasks.policy_audit WHERE id > seen;
END $$;

-- ---- policies of types ----
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', stuck => 'retry', timeout => '90s')$$), '[["type", "E|*", null, {"stuck": "retry", "timeout": "00:01:30"}]]', 'a policy is new');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', stuck => 'retry')$$), NULL, 'nothing in it changes');
SELECT is((SELECT changed_at > (SELECT max(at) FROM twtasks.policy_audit) FROM twtasks.type_policies WHERE pattern = 'E|*'), true, 'but when it was configured last');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', stuck => 'error', retry => '{"delays": ["1s"]}')$$),
	'[["type", "E|*", {"stuck": "retry", "timeout": "00:01:30"}, {"retry": {"delays": ["1s"]}, "stuck": "error", "timeout": "00:01:30"}]]', 'it is changed');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'retry')$$),
	'[["type", "E|*", {"retry": {"delays": ["1s"]}, "stuck": "error", "timeout": "00:01:30"}, {"stuck": "error", "timeout": "00:01:30"}]]', 'an option is unset');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'retry', 'aging')$$), NULL, 'one that is not set');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'stuck', 'timeout')$$), '[["type", "E|*", {"stuck": "error", "timeout": "00:01:30"}, null]]', 'the last ones');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'stuck')$$), NULL, 'of a pattern that is not there');
SELECT is(pg_temp.noted($$SELECT twtasks.drop_type_policy('E|*')$$), NULL, 'which cannot be dropped');
SELECT twtasks.configure_type('E|*', nodes => '{n1}') \g /dev/null
SELECT is(pg_temp.noted($$SELECT twtasks.drop_type_policy('E|*')$$), '[["type", "E|*", {"nodes": ["n1"]}, null]]', 'another is dropped');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', priority => 11)$$), '0', 'a call that is refused');
SELECT is(pg_temp.noted($$DO 'BEGIN PERFORM twtasks.configure_type(''E|*'', priority => 1); RAISE ''no''; END'$$), '0', 'one that is rolled back');

-- Each option by itself.
SET LOCAL intervalstyle = 'iso_8601';
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('ALL', 'a', 1, '1s', '2s', '3s', 'error', 'none', 'keep', '{x}', 'none', '"none"', 'none', true, '4s')$$),
	'[["type", "ALL", null, {"aging": "00:00:04", "bucket": "a", "expires_after": "00:00:03", "intercept": "none", "nodes": ["x"], "priority": 1, "queue_time": "00:00:02",
		"reset_tries": true, "retry": "none", "retry_function": "none", "stuck": "error", "stuck_function": "none", "timeout": "00:00:01", "when_done": "keep"}]]',
	'all options, in whatever form the session shows intervals');
RESET intervalstyle;
SELECT twtasks.unset_type_options('ALL', o) FROM unnest('{bucket,priority,timeout,queue_time,expires_after,stuck,stuck_function,when_done,
	nodes,intercept,retry,retry_function,reset_tries,aging}'::text[]) o \g /dev/null
SELECT results_eq($$SELECT (SELECT string_agg(b.key, ' ') FROM jsonb_each(a.before) b WHERE b.value IS DISTINCT FROM a.after -> b.key), a.after IS NULL
	FROM twtasks.policy_audit a WHERE a.name = 'ALL' AND a.before IS NOT NULL ORDER BY a.id$$,
	$$SELECT o, o = 'aging' FROM unnest('{bucket,priority,timeout,queue_time,expires_after,stuck,stuck_function,when_done,
	nodes,intercept,retry,retry_function,reset_tries,aging}'::text[]) o$$, 'each is unset, and nothing else, until none is left');

-- ---- buckets ----
SELECT is(pg_temp.noted($$SELECT twtasks.configure_bucket('new')$$), '[["bucket", "new", null, {}]]', 'a bucket is new');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_bucket('new')$$), NULL, 'it was there');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_bucket('new', 'for this', 0)$$), '[["bucket", "new", {}, {"concurrency": 0, "description": "for this"}]]', 'it is changed');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_bucket_options('new', 'concurrency')$$),
	'[["bucket", "new", {"concurrency": 0, "description": "for this"}, {"description": "for this"}]]', 'its limit is taken away');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_bucket_options('new', 'concurrency')$$), NULL, 'which is not there any more');

-- ---- pauses ----
SELECT is(pg_temp.noted($$SELECT twtasks.pause_type('E|*', 'the bank is down')$$), '[["pause", "E|*", null, {"kind": "type", "reason": "the bank is down"}]]', 'a type is paused');
SELECT is(pg_temp.noted($$SELECT twtasks.pause_type('E|*', 'again')$$), NULL, 'it was paused');
SELECT is(pg_temp.noted($$SELECT twtasks.resume_type('E|*')$$), '[["pause", "E|*", {"kind": "type", "reason": "the bank is down"}, null]]', 'it is resumed');
SELECT is(pg_temp.noted($$SELECT twtasks.resume_type('E|*')$$), NULL, 'it was not paused');
SELECT is(pg_temp.noted($$SELECT twtasks.pause_bucket('new')$$), '[["pause", "new", null, {"kind": "bucket"}]]', 'a bucket is paused');
SELECT is(pg_temp.noted($$SELECT twtasks.resume_bucket('new')$$), '[["pause", "new", {"kind": "bucket"}, null]]', 'it is resumed');
SELECT twtasks.pause_bucket('new') \g /dev/null
SELECT is(pg_temp.noted($$SELECT twtasks.drop_bucket('new')$$), '[["pause", "new", {"kind": "bucket"}, null], ["bucket", "new", {"description": "for this"}, null]]',
	'a bucket is dropped, and with it its pause');

-- ---- limits ----
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', 0)$$), '[["limit", "E|*", null, {"scope": "node", "stretch": 0, "concurrency": 0, "stretch_priority": 0}]]', 'a limit is new');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', 0)$$), NULL, 'it stays');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', rate => 5)$$),
	'[["limit", "E|*", {"scope": "node", "stretch": 0, "concurrency": 0, "stretch_priority": 0},
		{"per": "00:00:01", "rate": 5, "burst": 5, "scope": "node", "stretch": 0, "stretch_priority": 0}]]', 'it is changed');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', 3, 'cluster')$$), '[["limit", "E|*", null, {"scope": "cluster", "stretch": 0, "concurrency": 3, "stretch_priority": 0}]]',
	'one of the cluster is another');
SELECT is(jsonb_array_length(pg_temp.noted($$SELECT twtasks.drop_limit('E|*')$$)), 2, 'both are dropped');
SELECT is(pg_temp.noted($$SELECT twtasks.drop_limit('E|*')$$), NULL, 'once');

-- ---- who ----
SELECT is((SELECT bool_and(actor = session_user AND at BETWEEN transaction_timestamp() AND clock_timestamp()) FROM twtasks.policy_audit), true,
	'it is the session''s user, now, whatever role is set');
SET SESSION AUTHORIZATION regress_alice;
SELECT theirs.open('THROUGH') \g /dev/null
RESET SESSION AUTHORIZATION;
SELECT results_eq($$SELECT kind, actor FROM twtasks.policy_audit WHERE name = 'THROUGH' ORDER BY id$$, $$VALUES ('type', 'regress_alice'), ('limit', 'regress_alice'), ('pause', 'regress_alice')$$,
	'also when it calls a function of somebody else');
SELECT is(jsonb_array_length(pg_temp.noted('UPDATE twtasks.limit_rule SET concurrency = 1', session_user)), 1, 'what a superuser changes in a table');
SELECT is(jsonb_array_length(pg_temp.noted('DELETE FROM twtasks.limit_rule', 'twtasks_owner')), 1, 'and who may be the owner');
SELECT is(jsonb_array_length(pg_temp.noted($$INSERT INTO twtasks.pause VALUES ('type', 'X', '2000-01-01', 'me')$$, 'twtasks_owner')), 1, 'with new rows, too');
SELECT is(pg_temp.noted($$INSERT INTO twtasks.pause VALUES ('type', 'Y', '2000-01-01', 'me')$$, session_user), NULL, 'but a restore adds none');
SET SESSION AUTHORIZATION twtasks_owner;
INSERT INTO twtasks.pause VALUES ('type', 'Z', '2000-01-01', 'me');
RESET SESSION AUTHORIZATION;
SELECT is((SELECT count(*) FROM twtasks.policy_audit WHERE name = 'Z'), 0::bigint, 'nor does one as the owner of the table');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) > 30 FROM twtasks.policy_audit), true, 'a viewer may look');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
