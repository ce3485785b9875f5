-- A listener begins in a topic that it meets at its start, and in a partition that
-- the topic gets later at the first message.

BEGIN;
SELECT plan(44);

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
SELECT throws_ok($$SELECT begin_in(5, 6)$$, '42501', 'listener "billing" belongs to role "twt_listener"', 'nor in another partition of that topic');
SELECT throws_ok($$SELECT begin_in(0, 1, topic => 'orders')$$, '42501', 'listener "billing" belongs to role "twt_listener"', 'nor in another topic');
SELECT throws_ok($$SELECT twtasks.place_partition('billing', 'orders', 0, 1, 5, 5, NULL)$$, '42501', NULL, 'nor by place_partition()');
SELECT is(begin_in(0, 1, listener => 'own'), 50::bigint, 'it has listeners of its own');
RESET ROLE;

SELECT is(twtasks.reset_listener('hand', 'invoices', 2, 5, 'twt_listener'), NULL, 'an operator sets an offset by hand');
SELECT is(begin_in(3, 4, listener => 'hand'), 50::bigint, 'a topic that the listener has not met yet begins at start');

SELECT throws_ok($$SELECT begin_in(4, 4)$$, '22023', 'invalid number of partitions: 4', 'a topic has more partitions than the number of one');
SELECT throws_ok($$SELECT begin_in(4, NULL)$$, '22004', 'partitions, start and first must not be null', 'NULL is refused by name');
SELECT throws_ok($$SELECT begin_in(0, 1, listener => 'a', topic => 'b c')$$, '22023', NULL, 'names are checked');

-- A listener that stands still until an operator sets its offset.
CREATE FUNCTION place_in(partition integer, partitions integer DEFAULT 3, topic_id text DEFAULT NULL, first bigint DEFAULT 7) RETURNS SETOF record
LANGUAGE sql AS $$ SELECT * FROM twtasks.place_partition('still', 'orders', partition, partitions, 50, first, topic_id) $$;
CREATE FUNCTION stop_in(partition integer, from_offset bigint, problem text DEFAULT 'gone') RETURNS text
LANGUAGE sql AS $$ SELECT twtasks.stop_partition('still', 'orders', partition, from_offset, 8, problem) $$;
CREATE FUNCTION problems() RETURNS text
LANGUAGE sql AS $$ SELECT string_agg(partition || ' ' || next_offset || ' ' || problem, '; ' ORDER BY partition)
	FROM twtasks.listeners WHERE listener = 'still' AND problem_since IS NOT NULL $$;
CREATE FUNCTION typed() RETURNS text
LANGUAGE sql AS $$ SELECT string_agg(substring(hint FROM 'SELECT .*\)'), '; ' ORDER BY detail) FROM twtasks.warnings
	WHERE warning = 'listener stands still' AND since IS NOT NULL $$;
SET LOCAL ROLE twt_listener;
SELECT results_eq('SELECT * FROM place_in(0) AS (o bigint, p text)', 'VALUES (50::bigint, NULL::text)', 'a place has no problem');
SELECT results_eq('SELECT * FROM place_in(0, topic_id => $$A$$) AS (o bigint, p text)', 'VALUES (50::bigint, NULL::text)', 'the id of the topic is noted');
SELECT results_eq('SELECT * FROM place_in(0, topic_id => $$A$$) AS (o bigint, p text)', 'VALUES (50::bigint, NULL::text)', 'and met again');
SELECT is(stop_in(0, 49), NULL, 'a listener that has moved is not stopped');
SELECT is(stop_in(2, 49), NULL, 'nor one that has not begun');
SELECT is(stop_in(0, 50), 'gone', 'a listener is stopped');
SELECT is(stop_in(0, 50, 'other'), 'gone', 'the first problem stays');
SELECT results_eq('SELECT * FROM place_in(0, topic_id => $$B$$) AS (o bigint, p text)', $$VALUES (50::bigint, 'gone')$$, 'the place has the problem');
SELECT throws_ok($$SELECT twtasks.take_messages('still', 'orders', 0, 50, 51, '{}'::twtasks.new_task[])$$, '55000',
	'listener "still" stands still in partition 0 of topic "orders"', 'no message is taken there');
SELECT throws_ok($$SELECT twtasks.take_messages('still', 'orders', 0, 49, 51, '{}'::twtasks.new_task[])$$, '55000', NULL, 'wherever the call begins');
SELECT throws_ok($$SELECT twtasks.take_corrupted('still', 'orders', 0, ROW('orders', 0, 50, NULL, NULL, NULL, NULL), '22000', '')$$, '55000', NULL, 'nor a corrupt one');
SELECT throws_ok($$SELECT begin_in(0, 3, listener => 'still', topic => 'orders')$$, '55000', NULL, 'begin_partition() says so by an error');
SET LOCAL ROLE twt_other;
SELECT throws_ok($$SELECT stop_in(0, 50)$$, '42501', NULL, 'another role cannot stop the listener');
SELECT throws_ok($$SELECT * FROM place_in(0) AS (o bigint, p text)$$, '42501', NULL, 'or place it');
RESET ROLE;
SELECT is(problems(), '0 50 gone', 'twtasks.listeners shows the problem');
SELECT is(typed(), $$SELECT twtasks.reset_listener('still', 'orders', 0, 7)$$, 'a warning says what to type');
SELECT matches((SELECT hint FROM twtasks.warnings WHERE warning = 'listener stands still'),
	'of a topic that was made anew; in the old topic, this takes messages again: set 50 there', '... and when not to');
SELECT count(*) FROM place_in(0, first => 60) AS (o bigint, p text);
SELECT matches((SELECT hint FROM twtasks.warnings WHERE warning = 'listener stands still'),
	$$'orders', 0, 60\) begins with the first message that the topic has$$, '... the first message of now, since old ones are deleted meanwhile');
SELECT is(twtasks.reset_listener('still', 'orders', 0, 8), 50::bigint, 'an operator sets the offset');
SELECT is(problems(), NULL, 'that ends the problem');
SELECT results_eq('SELECT * FROM place_in(0, topic_id => $$B$$) AS (o bigint, p text)', 'VALUES (8::bigint, NULL::text)', 'the new id is noted then');
SELECT results_eq('SELECT * FROM place_in(0, topic_id => $$C$$) AS (o bigint, p text)', $$VALUES (8::bigint, 'the topic was deleted and made anew')$$, 'another id is another topic');
SELECT is(twtasks.reset_listener('still', 'orders', 0, 9), 8::bigint, 'an operator sets the offset again');

SELECT count(*) FROM place_in(2) AS (o bigint, p text);
SELECT results_eq('SELECT * FROM place_in(0, 2) AS (o bigint, p text)', 'VALUES (9::bigint, NULL::text)', 'partitions of a moment ago may be unknown to a broker');
UPDATE twtasks.message_offset SET moved = moved - interval '2 minutes', topic_id = 'C' WHERE partition = 2;
SELECT results_eq('SELECT * FROM place_in(0, 2, $$C$$) AS (o bigint, p text)', 'VALUES (9::bigint, NULL::text)', 'nor may old ones, if the topic has its id');
SELECT count(*) FROM place_in(0, 2) AS (o bigint, p text);
SELECT is(problems() || ' / ' || typed(), '0 9 the topic has 2 partitions, fewer than before: it was deleted and made anew; '
	'2 50 the topic has 2 partitions, fewer than before: it was deleted and made anew / ' ||
	$$SELECT twtasks.reset_listener('still', 'orders', 0, 7); SELECT twtasks.reset_listener('still', 'orders', 2, NULL)$$, 'fewer partitions stop all of them');
SELECT twtasks.reset_listener('still', 'orders', 0, 7), twtasks.reset_listener('still', 'orders', 2, NULL) \g /dev/null
SELECT results_eq('SELECT * FROM place_in(2) AS (o bigint, p text)', 'VALUES (7::bigint, NULL::text)', 'a partition that the new topic gets later begins at its first message');
SELECT * FROM finish();
ROLLBACK;
