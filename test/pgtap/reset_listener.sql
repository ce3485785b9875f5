-- An operator sets where a listener goes on, and to which role it belongs.

BEGIN;
SELECT plan(21);

CREATE FUNCTION take(from_offset bigint, to_offset bigint, partition integer DEFAULT 0) RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks.take_messages('billing', 'invoices', partition, from_offset, to_offset, '{}') $$;
CREATE FUNCTION audit() RETURNS SETOF text LANGUAGE sql AS
$$ SELECT concat_ws(' ', kind, name, coalesce(before::text, '-'), coalesce(after::text, '-')) FROM twtasks.policy_audit WHERE kind = 'listener' ORDER BY id $$;
CREATE ROLE twt_listener IN ROLE twtasks_producer;
CREATE ROLE twt_other IN ROLE twtasks_producer;
CREATE ROLE twt_owner_member IN ROLE twtasks_owner;
GRANT USAGE ON SCHEMA twtasks TO twt_listener, twt_other, twt_owner_member;
GRANT EXECUTE ON FUNCTION twtasks.take_messages TO twt_listener, twt_other, twt_owner_member;

SET LOCAL ROLE twt_listener;
SELECT is(take(0, 10), 10::bigint, 'a listener stands where it is');
RESET ROLE;
SELECT is(twtasks.reset_listener('billing', 'invoices', 0, 12, reason => 'broken'), 10::bigint, 'an operator sets the offset, and is told the old one');
SET LOCAL ROLE twt_listener;
SELECT is(take(10, 11), 12::bigint, 'a listener that runs is told to go there');
SELECT is(take(12, 13), 13::bigint, 'the listener goes on from there');
RESET ROLE;
SELECT is(ARRAY(SELECT audit()), '{"listener billing/invoices/0 {\"role\": \"twt_listener\", \"next_offset\": 10} {\"role\": \"twt_listener\", \"reason\": \"broken\", \"next_offset\": 12}"}'::text[],
	'the audit has the change');
SELECT is((SELECT concat_ws(' ', listener, topic, partition, next_offset, role, moved > now() - interval '1 minute') FROM twtasks.listeners),
	'billing invoices 0 13 twt_listener t', 'twtasks.listeners shows where listeners stand');

SELECT is(twtasks.reset_listener('billing', 'invoices', 1, 5, 'twt_listener'), NULL, 'an operator may set the first offset of a partition');
SET LOCAL ROLE twt_listener;
SELECT is(take(0, 1, 1), 5::bigint, 'the first messages of a partition begin there');
SET LOCAL ROLE twt_other;
SELECT throws_ok($$SELECT take(5, 6, 1)$$, '42501', 'listener "billing" belongs to role "twt_listener"', 'the partition belongs to the role that the operator named');
RESET ROLE;
SELECT is(twtasks.reset_listener('billing', 'invoices', 1, NULL), 5::bigint, 'an operator may forget a partition');
SELECT is((SELECT next_offset FROM twtasks.listeners WHERE listener = 'billing' AND topic = 'invoices' AND partition = 1), NULL, 'a partition that was forgotten has no offset');
SELECT is(twtasks.reset_listener('billing', 'invoices', 1, NULL), NULL, 'a partition without an offset may be forgotten again');

SELECT throws_ok($$SELECT twtasks.reset_listener('billing', 'invoices', 2, 5)$$, '22004', 'role must not be null for a new partition', 'a new partition needs a role');
SELECT throws_ok($$SELECT twtasks.reset_listener('billing', 'invoices', 0, 5, 'twt_missing')$$, '42704', 'role "twt_missing" does not exist', 'a role that does not exist is refused');
SELECT throws_ok($$SELECT twtasks.reset_listener('billing', 'invoices', 0, -1)$$, '22023', 'invalid offset: -1', 'a negative offset is refused');
SELECT throws_ok($$SELECT twtasks.reset_listener('billing', NULL, 0, 1)$$, '22004', 'topic must not be null', 'a NULL topic is refused by name');

-- A dropped role.
REVOKE ALL ON SCHEMA twtasks FROM twt_listener;
REVOKE ALL ON FUNCTION twtasks.take_messages FROM twt_listener;
DROP ROLE twt_listener;
SET LOCAL ROLE twt_other;
SELECT throws_ok($$SELECT take(13, 14)$$, '42501', 'listener "billing" belongs to role "twt_listener", which no longer exists', 'the listener of a dropped role is not for other roles');
SET LOCAL ROLE twt_owner_member;
SELECT is(take(13, 14), 14::bigint, 'members of twtasks_owner may go on for a dropped role');
RESET ROLE;
SELECT is(take(14, 15), 15::bigint, 'superusers may go on for a dropped role');
SELECT is(twtasks.reset_listener('billing', 'invoices', 0, 15, 'twt_other'), 15::bigint, 'an operator gives the listener of a dropped role to another');
SET LOCAL ROLE twt_other;
SELECT is(take(15, 16), 16::bigint, 'the other role goes on');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
