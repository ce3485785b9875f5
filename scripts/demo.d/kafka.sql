/*
 * kafka.sql
 *		The database of the demo of Kafka and ZooKeeper: the extension, who may do
 *		what, and a shop.
 */
CREATE EXTENSION twtasks;

CREATE ROLE demo_app LOGIN;			/* the application: adds tasks */
CREATE ROLE demo_sidecar LOGIN;		/* runs them */
CREATE ROLE demo_operator LOGIN;	/* looks at them */
GRANT twtasks_producer TO demo_app;
GRANT twtasks_worker TO demo_sidecar;
GRANT twtasks_operator TO demo_operator;

CREATE SCHEMA shop;
GRANT USAGE ON SCHEMA shop TO demo_app, demo_operator;
CREATE TABLE shop.sale (no int PRIMARY KEY);
GRANT SELECT, INSERT ON shop.sale TO demo_app;
GRANT SELECT ON shop.sale TO demo_operator;

/* Messages that the demo has read from topics, to compare them with tasks. */
CREATE TABLE answer (line text NOT NULL);
CREATE TABLE seen (topic text NOT NULL, key text, value text, twtasks_id text);
GRANT SELECT ON seen TO demo_operator;

/* Only the owner's table says which node leads. */
CREATE VIEW leader AS SELECT name FROM twtasks.node WHERE leads AND ended IS NULL;
GRANT SELECT ON leader TO demo_operator;
