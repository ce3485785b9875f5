-- A judge outside of the database, such as ZooKeeper, may say which node leads:
-- each tick of a node brings that judge's word.

BEGIN;
SELECT plan(9);

SELECT twtasks_internal.start_node('a') AS a \gset
SELECT twtasks_internal.start_node('b') AS b \gset

SELECT ok((twtasks_internal.tick(:a, 6000)).is_leader, 'the first node leads without a claim');
SELECT ok(NOT (twtasks_internal.tick(:b, 6000)).is_leader, 'the second node does not lead');
SELECT ok((twtasks_internal.tick(:b, 6000, true)).is_leader, 'a node that claims to lead takes the mark');
SELECT is((SELECT array_agg(name) FROM twtasks.node WHERE leads), '{b}', 'the former leader has lost the mark');
SELECT ok(NOT (twtasks_internal.tick(:a, 6000)).is_leader, 'the living leader stays without a claim');
SELECT ok(NOT (twtasks_internal.tick(:a, 6000, false)).is_leader, 'a node that may not lead does not lead');
SELECT is((SELECT array_agg(name) FROM twtasks.node WHERE leads), '{b}', 'a node that may not lead leaves the mark where it is');
SELECT ok(NOT (twtasks_internal.tick(:b, 6000, false)).is_leader, 'a leader that may not lead gives the mark up');
SELECT is((SELECT count(*) FROM twtasks.node WHERE leads), 0::bigint, 'no node has the mark then');

SELECT * FROM finish();
ROLLBACK;
