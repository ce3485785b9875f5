/*
 * kafka.sql
 *		The database of the demo of Kafka and ZooKeeper: the extension, who may do
 *		what, and a shop.
 */
CREATE EXTENSION twtasks;

CREATE ROLE demo_app LOGIN;			/* the application: adds tasks */
CREATE ROLE demo_sidecar LOGIN;		/* runs them */
CREATE ROLE demo_listener LOGIN;	/* makes tasks of messages */
CREATE ROLE demo_operator LOGIN;	/* looks at them */
GRANT twtasks_producer TO demo_app;
GRANT twtasks_worker TO demo_sidecar;
GRANT twtasks_producer TO demo_listener;
GRANT twtasks_operator TO demo_operator;

/* The SQL handler of orders has a role of its own, which may add tasks. */
CREATE ROLE demo_shop;
GRANT demo_shop TO demo_sidecar;
GRANT twtasks_producer TO demo_shop;

CREATE SCHEMA shop;
GRANT USAGE ON SCHEMA shop TO demo_app, demo_operator, demo_shop;
CREATE TABLE shop.sale (no int PRIMARY KEY);
CREATE TABLE shop.parcel (no int NOT NULL, task_id uuid NOT NULL);	/* no key: doubles would show */
GRANT SELECT, INSERT ON shop.sale TO demo_app;
GRANT INSERT ON shop.parcel TO demo_shop;
GRANT SELECT ON shop.sale, shop.parcel TO demo_operator;

/* An order becomes a parcel, and a message that tells of it. */
CREATE FUNCTION shop.ship(task twtasks.task_input)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
	no CONSTANT int := task.data->>'no';
BEGIN
	INSERT INTO shop.parcel (no, task_id) VALUES (no, task.id);
	PERFORM twtasks.send_to_kafka('parcels', ARRAY[twtasks.kafka_message(no::text, 'shipped')]);
END $$;

/* Messages that the demo has read from topics, to compare them with tasks. */
CREATE TABLE answer (line text NOT NULL);
CREATE TABLE seen (topic text NOT NULL, key text, value text, twtasks_id text);
GRANT SELECT ON seen TO demo_operator;

/* Only the owner's table says which node leads. */
CREATE VIEW leader AS SELECT name FROM twtasks.node WHERE leads AND ended IS NULL;
GRANT SELECT ON leader TO demo_operator;
