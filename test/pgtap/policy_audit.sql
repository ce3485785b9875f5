--
-- The audit of policies, buckets, limits and pauses names the actor and the old
-- values: one row for each object that a call changes, and none for no change.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(42);
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
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', stuck => 'retry', timeout => '90s')$$), '[["type", "E|*", null, {"stuck": "retry", "timeout": "00:01:30"}]]', 'the audit shows a new policy');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', stuck => 'retry')$$), NULL, 'a call that changes nothing leaves no row');
SELECT is((SELECT changed_at > (SELECT max(at) FROM twtasks.policy_audit) FROM twtasks.type_policies WHERE pattern = 'E|*'), true, 'a call without a change still sets the time of the last configuration');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', stuck => 'error', retry => '{"delays": ["1s"]}')$$),
	'[["type", "E|*", {"stuck": "retry", "timeout": "00:01:30"}, {"retry": {"delays": ["1s"]}, "stuck": "error", "timeout": "00:01:30"}]]', 'the audit shows a changed policy');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'retry')$$),
	'[["type", "E|*", {"retry": {"delays": ["1s"]}, "stuck": "error", "timeout": "00:01:30"}, {"stuck": "error", "timeout": "00:01:30"}]]', 'the audit shows an unset option');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'retry', 'aging')$$), NULL, 'unsetting an option that is not set leaves no row');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'stuck', 'timeout')$$), '[["type", "E|*", {"stuck": "error", "timeout": "00:01:30"}, null]]', 'the audit shows the removal of the last options');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_type_options('E|*', 'stuck')$$), NULL, 'unsetting options of a missing pattern leaves no row');
SELECT is(pg_temp.noted($$SELECT twtasks.drop_type_policy('E|*')$$), NULL, 'dropping a missing policy leaves no row');
SELECT twtasks.configure_type('E|*', nodes => '{n1}') \g /dev/null
SELECT is(pg_temp.noted($$SELECT twtasks.drop_type_policy('E|*')$$), '[["type", "E|*", {"nodes": ["n1"]}, null]]', 'the audit shows a dropped policy');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('E|*', priority => 11)$$), '0', 'a refused call leaves no row');
SELECT is(pg_temp.noted($$DO 'BEGIN PERFORM twtasks.configure_type(''E|*'', priority => 1); RAISE ''no''; END'$$), '0', 'a call that is rolled back leaves no row');

-- Each option by itself.
SET LOCAL intervalstyle = 'iso_8601';
SELECT is(pg_temp.noted($$SELECT twtasks.configure_type('ALL', 'a', 1, '1s', '2s', '3s', 'error', 'none', 'keep', '{x}', 'none', '"none"', 'none', true, '4s')$$),
	'[["type", "ALL", null, {"aging": "00:00:04", "bucket": "a", "expires_after": "00:00:03", "intercept": "none", "nodes": ["x"], "priority": 1, "queue_time": "00:00:02",
		"reset_tries": true, "retry": "none", "retry_function": "none", "stuck": "error", "stuck_function": "none", "timeout": "00:00:01", "when_done": "keep"}]]',
	'the audit shows all options, whatever the session''s interval style');
RESET intervalstyle;
SELECT twtasks.unset_type_options('ALL', o) FROM unnest('{bucket,priority,timeout,queue_time,expires_after,stuck,stuck_function,when_done,
	nodes,intercept,retry,retry_function,reset_tries,aging}'::text[]) o \g /dev/null
SELECT results_eq($$SELECT (SELECT string_agg(b.key, ' ') FROM jsonb_each(a.before) b WHERE b.value IS DISTINCT FROM a.after -> b.key), a.after IS NULL
	FROM twtasks.policy_audit a WHERE a.name = 'ALL' AND a.before IS NOT NULL ORDER BY a.id$$,
	$$SELECT o, o = 'aging' FROM unnest('{bucket,priority,timeout,queue_time,expires_after,stuck,stuck_function,when_done,
	nodes,intercept,retry,retry_function,reset_tries,aging}'::text[]) o$$, 'the audit shows each unset option alone, until none is left');

-- ---- buckets ----
SELECT is(pg_temp.noted($$SELECT twtasks.configure_bucket('new')$$), '[["bucket", "new", null, {}]]', 'the audit shows a new bucket');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_bucket('new')$$), NULL, 'configuring the same bucket again leaves no row');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_bucket('new', 'for this', 0)$$), '[["bucket", "new", {}, {"concurrency": 0, "description": "for this"}]]', 'the audit shows a changed bucket');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_bucket_options('new', 'concurrency')$$),
	'[["bucket", "new", {"concurrency": 0, "description": "for this"}, {"description": "for this"}]]', 'the audit shows a bucket''s limit that was removed');
SELECT is(pg_temp.noted($$SELECT twtasks.unset_bucket_options('new', 'concurrency')$$), NULL, 'removing that limit again leaves no row');

-- ---- pauses ----
SELECT is(pg_temp.noted($$SELECT twtasks.pause_type('E|*', 'the bank is down')$$), '[["pause", "E|*", null, {"kind": "type", "reason": "the bank is down"}]]', 'the audit shows a paused type');
SELECT is(pg_temp.noted($$SELECT twtasks.pause_type('E|*', 'again')$$), NULL, 'pausing the type again leaves no row');
SELECT is(pg_temp.noted($$SELECT twtasks.resume_type('E|*')$$), '[["pause", "E|*", {"kind": "type", "reason": "the bank is down"}, null]]', 'the audit shows a resumed type');
SELECT is(pg_temp.noted($$SELECT twtasks.resume_type('E|*')$$), NULL, 'resuming a type that is not paused leaves no row');
SELECT is(pg_temp.noted($$SELECT twtasks.pause_bucket('new')$$), '[["pause", "new", null, {"kind": "bucket"}]]', 'the audit shows a paused bucket');
SELECT is(pg_temp.noted($$SELECT twtasks.resume_bucket('new')$$), '[["pause", "new", {"kind": "bucket"}, null]]', 'the audit shows a resumed bucket');
SELECT twtasks.pause_bucket('new') \g /dev/null
SELECT is(pg_temp.noted($$SELECT twtasks.drop_bucket('new')$$), '[["pause", "new", {"kind": "bucket"}, null], ["bucket", "new", {"description": "for this"}, null]]',
	'the audit shows a dropped bucket, and the pause dropped with it');

-- ---- limits ----
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', 0)$$), '[["limit", "E|*", null, {"scope": "node", "stretch": 0, "concurrency": 0, "stretch_priority": 0}]]', 'the audit shows a new limit');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', 0)$$), NULL, 'setting the same limit again leaves no row');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', rate => 5)$$),
	'[["limit", "E|*", {"scope": "node", "stretch": 0, "concurrency": 0, "stretch_priority": 0},
		{"per": "00:00:01", "rate": 5, "burst": 5, "scope": "node", "stretch": 0, "stretch_priority": 0}]]', 'the audit shows a changed limit');
SELECT is(pg_temp.noted($$SELECT twtasks.configure_limit('E|*', 3, 'cluster')$$), '[["limit", "E|*", null, {"scope": "cluster", "stretch": 0, "concurrency": 3, "stretch_priority": 0}]]',
	'the audit shows a limit of the cluster beside that of the node');
SELECT is(jsonb_array_length(pg_temp.noted($$SELECT twtasks.drop_limit('E|*')$$)), 2, 'the audit shows both dropped limits');
SELECT is(pg_temp.noted($$SELECT twtasks.drop_limit('E|*')$$), NULL, 'dropping them again leaves no row');

-- ---- who ----
SELECT is((SELECT bool_and(actor = session_user AND at BETWEEN transaction_timestamp() AND clock_timestamp()) FROM twtasks.policy_audit), true,
	'the actor is the user of the session, whatever role is set');
SET SESSION AUTHORIZATION regress_alice;
SELECT theirs.open('THROUGH') \g /dev/null
RESET SESSION AUTHORIZATION;
SELECT results_eq($$SELECT kind, actor FROM twtasks.policy_audit WHERE name = 'THROUGH' ORDER BY id$$, $$VALUES ('type', 'regress_alice'), ('limit', 'regress_alice'), ('pause', 'regress_alice')$$,
	'the actor is the user of the session within another''s function');
SELECT is(jsonb_array_length(pg_temp.noted('UPDATE twtasks.limit_rule SET concurrency = 1', session_user)), 1, 'a superuser''s change of a row leaves a row');
SELECT is(jsonb_array_length(pg_temp.noted('DELETE FROM twtasks.limit_rule', 'twtasks_owner')), 1, 'a member of the owner leaves a row for a deletion');
SELECT is(jsonb_array_length(pg_temp.noted($$INSERT INTO twtasks.pause VALUES ('type', 'X', '2000-01-01', 'me')$$, 'twtasks_owner')), 1, 'a member of the owner leaves a row for an insert');
SELECT is(pg_temp.noted($$INSERT INTO twtasks.pause VALUES ('type', 'Y', '2000-01-01', 'me')$$, session_user), NULL, 'a superuser''s insert, as of a restore, leaves no row');
SET SESSION AUTHORIZATION twtasks_owner;
INSERT INTO twtasks.pause VALUES ('type', 'Z', '2000-01-01', 'me');
RESET SESSION AUTHORIZATION;
SELECT is((SELECT count(*) FROM twtasks.policy_audit WHERE name = 'Z'), 0::bigint, 'an insert by the owner of the table, as of a restore, leaves no row');
SELECT is(concat_ws(' ', twtasks.forget_address('nowhere:5432/app'), (SELECT count(*) FROM twtasks.policy_audit WHERE kind = 'address'), (SELECT count(*) FROM twtasks.addresses)),
	'f 0 0', 'an address that is not recorded leaves no row');
SELECT throws_ok('SELECT twtasks.forget_address(NULL)', '22004', 'address must not be null', 'no address is refused');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) > 30 FROM twtasks.policy_audit), true, 'a viewer may read the audit');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
