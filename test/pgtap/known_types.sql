--
-- twtasks.refuse_unknown_types: a type is known from a sidecar that handles it,
-- also while none lives, or from a policy.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node, twtasks.handled_type;
DELETE FROM twtasks.type_policy;
SELECT plan(17);

CREATE FUNCTION pg_temp.refusal(type text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	hint text;
BEGIN
	PERFORM twtasks.add_task(type);
	RETURN NULL;
EXCEPTION WHEN undefined_object THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLERRM || ': ' || hint;
END $$;

SELECT is(pg_temp.refusal('THUM'), NULL, 'all types are accepted by default');
SET twtasks.refuse_unknown_types = on;
SELECT is(pg_temp.refusal('THUM'),
	'unrecognized type: "THUM": Start a sidecar that handles it, or announce it with twtasks.configure_type().',
	'a type that nobody has announced is refused');
SELECT twtasks_internal.start_node('thumbs', types => '{THUMB,THUMP_ALL,PAY|*,NULL}') AS node \gset
SELECT is(pg_temp.refusal('THUMB'), NULL, 'a type that a sidecar handles is accepted');
SELECT is(pg_temp.refusal('PAY|ACME'), NULL, 'a type that begins with a sidecar''s pattern is accepted');
SELECT is(pg_temp.refusal('PAY|'), NULL, 'a type that is the beginning of a pattern is accepted');
SELECT matches(pg_temp.refusal('PAY'), 'unrecognized type: "PAY"', 'a type that is shorter than the pattern''s beginning is refused');
SELECT is(pg_temp.refusal('THUM'), 'unrecognized type: "THUM": Perhaps you meant "THUMB".', 'a hint names the nearest type');
SELECT throws_ok($$ SELECT twtasks.add_tasks('[{"type": "THUMB"}, {"type": "THUM"}]'::jsonb) $$, '42704',
	'unrecognized type: "THUM"', 'a batch with an unknown type is refused');
SELECT throws_ok($$ SELECT twtasks.add_tasks('THUM', '{NULL}'::jsonb[]) $$, '42704',
	'unrecognized type: "THUM"', 'a batch of a single unknown type is refused');

-- Sidecars come and go.
SELECT twtasks_internal.end_node(:node) \g /dev/null
DELETE FROM twtasks.node;
SELECT is(pg_temp.refusal('THUMB'), NULL, 'a type stays known while no sidecar is there');
UPDATE twtasks.handled_type SET started = started - interval '31 days';
SELECT twtasks_internal.start_node('other', types => '{THUMB}') \g /dev/null
SELECT is((SELECT array_agg(pattern) FROM twtasks.handled_type), '{THUMB}', 'types of long ago are forgotten');
SELECT ok((SELECT started > now() - interval '1 day' FROM twtasks.handled_type), 'a type that is handled again is known for longer');
UPDATE twtasks.handled_type SET started = started - interval '31 days';
SELECT twtasks_internal.start_node('third', types => '{OTHER}') \g /dev/null
SELECT is(pg_temp.refusal('THUMB'), NULL, 'a type is known as long as its sidecar lives');

-- A policy announces a type that is deployed before its sidecar.
SELECT matches(pg_temp.refusal('NEW'), 'unrecognized', 'a new type is refused');
SELECT twtasks.configure_type('*', priority => 3) \g /dev/null
SELECT matches(pg_temp.refusal('NEW'), 'unrecognized', 'a policy for all types announces no type');
SELECT twtasks.configure_type('NEW', priority => 3) \g /dev/null
SELECT is(pg_temp.refusal('NEW'), NULL, 'a policy that names a type announces it');
SELECT twtasks.drop_type_policy('NEW') \g /dev/null

SELECT is(twtasks_internal.is_known_type(repeat('x', 100000)), false, 'what is too long for a type is none, and takes no time');
SELECT * FROM finish();
ROLLBACK;
