# shellcheck shell=bash
#
# acts_kafka.bash -- the acts of the demo of Kafka and ZooKeeper.  Sourced by
# scripts/demo-kafka, whose functions it uses.

demo=			# the directory of the processes' files

play()
{
	act_outbox
	act_broker
	act_leader
}

# wait_for_sent -- until every message has left
wait_for_sent()
{
	wait_for "NOT EXISTS (SELECT FROM twtasks.tasks WHERE type = 'SendToKafka' AND status <> 'DONE')"
}

act_outbox()
{
	act 1 'A message leaves if the transaction commits, and only then'
	fact "A shop tells others of its sales. A sale and its message are one transaction, so
there is no sale without a message, and no message without a sale."
	shown demo_app "BEGIN;
INSERT INTO shop.sale VALUES (1);
SELECT twtasks.send_to_kafka('sales', ARRAY[twtasks.kafka_message('1', 'sold')]);
COMMIT;
BEGIN;
INSERT INTO shop.sale VALUES (2);
SELECT twtasks.send_to_kafka('sales', ARRAY[twtasks.kafka_message('2', 'sold')]);
ROLLBACK;
BEGIN;
INSERT INTO shop.sale VALUES (3);
SELECT twtasks.send_to_kafka('sales', ARRAY[twtasks.kafka_message('3', 'sold')]);
COMMIT;" >/dev/null
	wait_for_sent >/dev/null
	read_topic sales
	fact "sales in the database: $(see "SELECT string_agg(no::text, ', ' ORDER BY no) FROM shop.sale")"
	fact "messages in the topic: $(see "SELECT string_agg(key, ', ' ORDER BY key) FROM seen")"
	verdict 'the messages are those of the committed sales' \
		"$(see "SELECT (SELECT string_agg(key, ',' ORDER BY key) FROM seen WHERE topic = 'sales') = '1,3'
			AND (SELECT string_agg(no::text, ',' ORDER BY no) FROM shop.sale) = '1,3'")"
}

# sell FIRST LAST -- so many sales, each in a transaction of its own
sell()
{
	local i

	for ((i = $1; i <= $2; i++)); do
		echo "BEGIN;
			INSERT INTO shop.sale VALUES ($i);
			SELECT count(*) FROM twtasks.send_to_kafka('sales', ARRAY[twtasks.kafka_message('$i', 'sold')]);
			COMMIT;"
	done | psql -XAtq -v ON_ERROR_STOP=1 -U demo_app -d demo >/dev/null
}

act_broker()
{
	local sent

	act 2 'The broker is killed, and no message is lost'
	fact "The shop sells 1,000 things, one transaction each. The broker dies in the middle.
The shop does not notice: its messages wait in PostgreSQL, as tasks."
	sell 1001 1500
	fact "kill -9 $(cat "$demo/kafka.pid")   # the broker"
	end_process KILL kafka
	sell 1501 2000
	fact "$(see "SELECT (SELECT count(*) FROM shop.sale WHERE no > 1000) || ' sales are committed; ' ||
		count(*) || ' messages wait' FROM twtasks.tasks
		WHERE type = 'SendToKafka' AND status <> 'DONE'")"
	fact 'the broker is started again'
	start_broker
	sent=$(wait_for_sent)
	read_topic sales
	fact "$(see "SELECT count(DISTINCT twtasks_id) || ' messages are in the topic, ' ||
		count(*) - count(DISTINCT twtasks_id) || ' of them twice: consumers tell a repeated one by its header twtasks-id'
		FROM seen WHERE key::int > 1000")"
	verdict 'each of the 1,000 sales has its message' \
		"$(see "SELECT '$sent'::boolean AND count(DISTINCT key) = 1000 AND count(DISTINCT twtasks_id) = 1000
			FROM seen WHERE key::int BETWEEN 1001 AND 2000")"
}

act_leader()
{
	local first second since ran

	act 3 'ZooKeeper chooses the leader, and another one if the leader stands still'
	fact "One sidecar leads: it runs schedules, cleans and counts for all. With
\"leader: zookeeper\" each sidecar has a node in ZooKeeper, and the lowest leads."
	first=$(see 'SELECT name FROM leader')
	second=$([ "$first" = a ] && echo b || echo a)
	fact "sidecar $first leads"
	fact "kill -STOP $(cat "$demo/$first.pid")   # sidecar $first stands still, as a paused machine does"
	since=$(see 'SELECT clock_timestamp()')
	signal_process STOP "$first"
	shown demo_app "SELECT twtasks.add_task('REMIND', run_after => clock_timestamp() + interval '1 second');" >/dev/null
	wait_for "EXISTS (SELECT FROM leader WHERE name = '$second')" >/dev/null
	fact "$(see "SELECT round(extract(epoch FROM clock_timestamp() - '$since'), 1) || ' s later sidecar ' || name ||
		' leads: ZooKeeper had heard nothing of $first for 2 s' FROM leader")"
	ran=$(wait_for "EXISTS (SELECT FROM twtasks.tasks WHERE type = 'REMIND' AND status = 'DONE')")
	fact "$(see "SELECT 'the task was due meanwhile; it ran on sidecar ' || n.name || ', ' ||
		round(extract(epoch FROM t.state_time - t.created) - 1, 1) || ' s late'
		FROM twtasks.tasks t LEFT JOIN twtasks.nodes n USING (incarnation) WHERE t.type = 'REMIND'")"
	fact '(a trigger may still go to the sidecar that stands still; then the other one finds
the task when it next reads the table)'
	signal_process CONT "$first"
	verdict 'the other sidecar leads, and the task that was due meanwhile ran' \
		"$(see "SELECT '$ran'::boolean AND name = '$second' FROM leader")"
}
