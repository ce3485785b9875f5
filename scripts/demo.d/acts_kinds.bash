# shellcheck shell=bash
#
# acts_kinds.bash -- the acts of the demo of events and kinds.  Sourced by
# scripts/demo-kinds, whose functions it uses.

demo=			# the directory of the processes' files

play()
{
	act_events
	act_payments
	act_kill
	act_person
}

act_events()
{
	act 1 'The events of an order come in order'
	fact "An order changes. Each change and its event are one transaction."
	shown demo_app "BEGIN;
INSERT INTO shop.orders VALUES (1, 'new');
SELECT twtasks.add_event('orders', 'order-1', '{\"state\": \"new\"}');
COMMIT;
BEGIN;
UPDATE shop.orders SET state = 'packed' WHERE no = 1;
SELECT twtasks.add_event('orders', 'order-1', '{\"state\": \"packed\"}');
COMMIT;
BEGIN;
UPDATE shop.orders SET state = 'lost' WHERE no = 1;
SELECT twtasks.add_event('orders', 'order-1', '{\"state\": \"lost\"}');
ROLLBACK;
BEGIN;
UPDATE shop.orders SET state = 'sent' WHERE no = 1;
SELECT twtasks.add_event('orders', 'order-1', '{\"state\": \"sent\"}');
COMMIT;" >/dev/null
	wait_for "(SELECT count(*) = 3 FROM shop.seen)" >/dev/null
	fact "the consumer has seen: $(see "SELECT string_agg(state || ' (id ' || id || ' after ' || prev || ')', ', ' ORDER BY place) FROM shop.seen")"
	verdict 'each event follows the one that it names, and what was rolled back never was' \
		"$(see "SELECT string_agg(state, ' ' ORDER BY place) = 'new packed sent' AND bool_and(follows)
			FROM (SELECT *, prev = lag(id, 1, 0::bigint) OVER (ORDER BY place) AS follows FROM shop.seen) s")"
}

# decided KIND HOW_MANY -- waits until so many identifiers have their outcome
decided()
{
	wait_for "(SELECT count(*) = $2 FROM twtasks.outcomes WHERE kind = '$1' AND decided IS NOT NULL)"
}

act_payments()
{
	local all

	act 2 'A payment is made once, although answers get lost'
	fact "The bank loses every second answer: the money moves, and nobody hears of it. The
bank can be asked for a payment, so its kind is pessimistic: find, then attempt."
	shown demo_app "SELECT count(twtasks.start('payment', jsonb_build_object('order', n, 'amount', 30)))
FROM generate_series(1, 20) n;" >/dev/null
	fact "started again: $(sql demo_app "SELECT twtasks.start('payment', '{\"order\": 1, \"amount\": 30}')")"
	all=$(decided payment 20)
	read_statement
	fact "steps of a payment whose answer was lost:"
	see "SELECT '     attempt ' || number || ', ' || step || ': ' || answer FROM twtasks.attempts
		WHERE identifier = (SELECT identifier FROM twtasks.attempts WHERE answer = 'unknown' LIMIT 1)
		ORDER BY number, started"
	fact "$(see "SELECT count(*) FILTER (WHERE answer = 'unknown') || ' attempts ended unknown; the bank has made ' ||
		(SELECT count(*) FROM shop.statement) || ' payments' FROM twtasks.attempts WHERE kind = 'payment' AND step = 'attempt'")"
	verdict 'each of the 20 orders is paid, once' \
		"$(see "SELECT '$all'::boolean AND count(*) = 20 AND count(DISTINCT reference) = 20 FROM shop.statement")"
}

act_kill()
{
	local all

	act 3 'The sidecar is killed in the middle, and each payment is still made once'
	shown demo_app "SELECT count(twtasks.start('payment', jsonb_build_object('order', n, 'amount', 30)))
FROM generate_series(101, 140) n;" >/dev/null
	wait_for "(SELECT count(*) > 5 FROM twtasks.outcomes WHERE identifier ~ '1[0-9][0-9]\$' AND decided IS NOT NULL)" >/dev/null
	fact "kill -9 $(cat "$demo/a.pid")   # the sidecar, and a new one starts"
	end_process KILL a
	start_sidecar a
	all=$(decided payment 60)
	read_statement
	verdict 'each of the 60 orders is paid, once' \
		"$(see "SELECT '$all'::boolean AND count(*) = 60 AND count(DISTINCT reference) = 60 FROM shop.statement")"
}

act_person()
{
	local all

	act 4 'A person decides, and the decision starts the refund'
	sql demo_app "SELECT twtasks.start('complaint', jsonb_build_object('order', n, 'amount', 30, 'text', 'it is broken'))
		FROM generate_series(1, 2) n" >/dev/null
	fact 'a clerk reads, and answers:'
	shown demo_clerk "SELECT identifier, read_model->>'text' FROM twtasks.read_to_do('complaint');
SELECT result, outcome FROM twtasks.answer_to_do('complaint', 'complaint-1', '{\"refund\": true}');
SELECT result, outcome FROM twtasks.answer_to_do('complaint', 'complaint-1', '{\"refund\": false}');
SELECT result, outcome FROM twtasks.answer_to_do('complaint', 'complaint-2', '{\"refund\": false}');" | sed 's/^/     /'
	all=$(decided refund 1)
	read_statement
	fact "$(see "SELECT 'the bank: ' || string_agg(reference || ' ' || amount, ', ') FROM shop.statement WHERE amount < 0")"
	verdict 'the first answer counts, and one refund was made' \
		"$(see "SELECT '$all'::boolean AND string_agg(reference || ' ' || amount, ',') = 'refund-1 -30' FROM shop.statement WHERE amount < 0")"
	verdict 'nothing is broken, and nothing came too late' \
		"$(see "SELECT NOT EXISTS (SELECT FROM twtasks.broken_outcomes) AND NOT EXISTS (SELECT FROM twtasks.broken_event_objects)")"
}
