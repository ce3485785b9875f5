/*
 * kinds.sql
 *		The database of the demo of events and kinds: the extensions, who may do what,
 *		and a shop with a bank.
 */
CREATE EXTENSION twtasks;
CREATE EXTENSION twtasks_events;
CREATE EXTENSION twtasks_kinds;

CREATE ROLE demo_app LOGIN;			/* the application: orders */
CREATE ROLE demo_sidecar LOGIN;		/* runs the tasks */
CREATE ROLE demo_clerk LOGIN;		/* answers what people must decide */
CREATE ROLE demo_operator LOGIN;	/* looks at all */
GRANT twtasks_producer TO demo_app;
GRANT twtasks_worker TO demo_sidecar;
GRANT twtasks_operator TO demo_operator;
GRANT USAGE ON SCHEMA twtasks TO demo_clerk;

/* A consumer of events, who keeps them as they come. */
CREATE ROLE demo_consumer;
GRANT demo_consumer TO demo_sidecar;
CREATE SCHEMA shop;
GRANT USAGE ON SCHEMA shop TO demo_app, demo_operator, demo_consumer;
GRANT USAGE ON SCHEMA twtasks TO demo_consumer;
CREATE TABLE shop.orders (no int PRIMARY KEY, state text NOT NULL);
CREATE TABLE shop.seen (place int GENERATED ALWAYS AS IDENTITY, object text, id bigint, prev bigint, state text);
CREATE TABLE shop.statement (number int, reference text, amount numeric);
GRANT ALL ON shop.orders TO demo_app;
GRANT INSERT ON shop.seen TO demo_consumer;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO demo_operator;

CREATE FUNCTION shop.see(task twtasks.task_input)
RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO shop.seen (object, id, prev, state)
	SELECT task.data->>'object', e.id, e.prev, e.event->>'state'
	FROM jsonb_to_recordset(task.data->'events') e(id bigint, prev bigint, event jsonb) ORDER BY e.id
$$;
SELECT twtasks.configure_stream('orders', 'ORDER_EVENTS', batch => 5) \g /dev/null

/* The bank can be asked for a payment.  A refund is a payment of a negative amount. */
SELECT twtasks.configure_kind('payment', 'pessimistic', 'PAYMENT', 'payment-{/order}', delay => '200ms') \g /dev/null
SELECT twtasks.configure_kind('refund', 'pessimistic', 'REFUND', 'refund-{/order}', delay => '200ms') \g /dev/null

/* A person decides about complaints, by what is read and what is answered. */
CREATE FUNCTION shop.decide(read_model jsonb, data jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_build_object('decision', CASE WHEN (data->>'refund')::boolean THEN 'refund' ELSE 'refuse' END)
$$;
SELECT twtasks.configure_kind('complaint', 'to_do', 'COMPLAINT', 'complaint-{/order}', expires => '14 days',
	decide => 'shop.decide', readers => '{demo_clerk}', answerers => '{demo_clerk}') \g /dev/null
CREATE FUNCTION shop.back(event jsonb, identifier text, outcome jsonb)
RETURNS jsonb
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT event || jsonb_build_object('amount', -(event->>'amount')::numeric)
$$;
SELECT twtasks.on_outcome('complaint', 'refund', then_kind => 'refund', event_function => 'shop.back') \g /dev/null
