-- A listener begins in a topic that it meets at its start, and in a partition that
-- the topic gets later at the first message.

BEGIN;
SELECT plan(13);

CREATE FUNCTION begin_in(partition integer, partitions integer, start bigint DEFAULT 50, first bigint DEFAULT 7,
						 listener text DEFAULT 'billing', topic text DEFAULT 'invoices') RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks.begin_partition(listener, topic, partition, partitions, start, first) $$;
CREATE ROLE twt_listener IN ROLE twtasks_producer;
CREATE ROLE twt_other IN ROLE twtasks_producer;

SET LOCAL ROLE twt_listener;
SELECT is(begin_in(1, 2), 50::bigint, 'a partition that the topic has at first begins at start');
SELECT is(begin_in(0, 2), 50::bigint, 'so does another one, in whatever order they come');
SELECT is(begin_in(2, 4), 7::bigint, 'a partition that the topic gets later begins at its first message');
SELECT is(begin_in(3, 4), 7::bigint, 'so does the one beside it');
SELECT is(begin_in(0, 4, 90, 60), 50::bigint, 'a listener that stands in the partition goes on there');
SELECT is(begin_in(2, 3, topic => 'refunds'), 50::bigint, 'another topic begins at start');
SELECT is(begin_in(2, 3, listener => 'audit'), 50::bigint, 'another listener begins at start');
SET LOCAL ROLE twt_other;
SELECT throws_ok($$SELECT begin_in(0, 1)$$, '42501', 'listener "billing" belongs to role "twt_listener"', 'another role cannot begin there');
RESET ROLE;

SELECT is(twtasks.reset_listener('hand', 'invoices', 2, 5, 'twt_listener'), NULL, 'an operator sets an offset by hand');
SELECT is(begin_in(3, 4, listener => 'hand'), 50::bigint, 'a topic that the listener has not met yet begins at start');

SELECT throws_ok($$SELECT begin_in(4, 4)$$, '22023', 'invalid number of partitions: 4', 'a topic has more partitions than the number of one');
SELECT throws_ok($$SELECT begin_in(4, NULL)$$, '22004', 'partitions, start and first must not be null', 'NULL is refused by name');
SELECT throws_ok($$SELECT begin_in(0, 1, listener => 'a', topic => 'b c')$$, '22023', NULL, 'names are checked');
SELECT * FROM finish();
ROLLBACK;
