/*
 * demo.sql
 *		The database of the demo: who may do what, and a small bank.
 */

CREATE ROLE demo_app LOGIN;			/* the application: adds tasks */
CREATE ROLE demo_sidecar LOGIN;		/* runs them */
CREATE ROLE demo_operator LOGIN;	/* looks at them, and decides */
GRANT twtasks_producer TO demo_app;
GRANT twtasks_worker TO demo_sidecar;
GRANT twtasks_operator TO demo_operator;

CREATE ROLE demo_web LOGIN;			/* takes on the role of each person at the page */
GRANT twtasks_web, twtasks_viewer, twtasks_operator, twtasks_payload_viewer TO demo_web;
SELECT twtasks.allow_payload('*', 'twtasks_payload_viewer');

/* The SQL handler of the last act has a role of its own. */
CREATE ROLE demo_bank;
GRANT demo_bank TO demo_sidecar;
CREATE SCHEMA bank;
GRANT USAGE ON SCHEMA bank TO demo_bank, demo_operator;

CREATE TABLE bank.account (name text PRIMARY KEY, balance numeric NOT NULL);
CREATE TABLE bank.booking (task_id uuid NOT NULL, amount numeric NOT NULL);
GRANT SELECT, UPDATE ON bank.account TO demo_bank;
GRANT INSERT ON bank.booking TO demo_bank;
GRANT SELECT ON bank.account, bank.booking TO demo_operator;
INSERT INTO bank.account VALUES ('ada', 3000), ('bob', 0);

CREATE FUNCTION bank.transfer(task twtasks.task_input)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
	amount CONSTANT numeric := task.data->>'amount';
BEGIN
	UPDATE bank.account SET balance = balance - amount WHERE name = task.data->>'from';
	UPDATE bank.account SET balance = balance + amount WHERE name = task.data->>'to';
	INSERT INTO bank.booking (task_id, amount) VALUES (task.id, amount);
END $$;

/* For the figures: which transaction added which task. */
CREATE TABLE sample (task_id uuid NOT NULL, xid xid NOT NULL);
GRANT INSERT ON sample TO demo_app;
GRANT SELECT ON sample TO demo_operator;
