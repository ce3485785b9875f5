\echo Use "CREATE EXTENSION twtasks_kinds" to load this file. \quit

-- extensions/kinds/schema.sql
/*
 * Kinds of task: what a task may promise depends on what the third party supports.
 *
 * Each identifier has one row in twtasks.outcome.  A step towards its outcome is
 * one task, which is tried once.  The end of that task makes the next step, in the
 * same transaction, as twtasks_internal.kind_rule says.
 *
 *		invariant	an identifier without an outcome has one live step task, or an
 *					answer that is still to be followed
 *		lock		whoever moves an identifier on holds the lock of its row
 *
 * test/models has a model of each kind, and what breaks it.
 */
CREATE TYPE twtasks.task_kind AS ENUM (
	'idempotent', 'pessimistic', 'black_boxed', 'optimistic', 'to_do');
COMMENT ON TYPE twtasks.task_kind IS 'Support by a third party, and so how an action is attempted again';

/* decide functions run as this role, which may do nothing. */
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) 'twtasks_nobody') THEN
		CREATE ROLE twtasks_nobody NOLOGIN NOINHERIT;
	ELSIF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) 'twtasks_nobody'
				  AND (r.rolsuper OR r.rolcreaterole OR r.rolcanlogin
					   OR EXISTS (SELECT FROM pg_catalog.pg_auth_members m WHERE m.member OPERATOR(pg_catalog.=) r.oid))) THEN
		RAISE EXCEPTION 'role "twtasks_nobody" exists and can do more than it should'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is a superuser, can create roles, can log in or is a member of a role.',
				HINT = 'Drop or rename that role, then create the extension again.';
	END IF;
END $$;

CREATE TABLE twtasks.kind (
	name			text COLLATE "C" NOT NULL,	-- Names the kind in start()
	kind			twtasks.task_kind NOT NULL,	-- Support by the third party
	type			text COLLATE "C" NOT NULL,	-- Type of its step tasks
	identifier		text NOT NULL,				-- Template or function that makes the identifier of an event
	expires			interval,					-- Time from start() in which actions may begin; NULL: for ever
	still_needed	text,						-- Function that says whether an action is still needed; NULL: it is
	on_expiry		text,						-- Function that decides for what has expired; NULL: the decision is expired
	attempts		integer,					-- Most attempts; NULL: any number
	delay			interval NOT NULL,			-- Time before the second attempt
	retry_function	text,						-- Function that says when to attempt again; NULL: delay, doubled each time
	on_fault		text,						-- Function that decides when no attempt is left; NULL: a person
	on_uncertain	text,						-- Function that decides when the end of an attempt is unknown
	read_model		text,						-- Function that makes what people read
	contract		text,						-- Function that says whether an answer is well-formed; NULL: any is
	decide			text,						-- Function that decides by read model and answer
	readers			text[],						-- Roles that may read the items
	answerers		text[],						-- Roles that may answer them
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change
	CONSTRAINT kind_pkey PRIMARY KEY (name),
	CONSTRAINT kind_type_key UNIQUE (type)
);
COMMENT ON TABLE twtasks.kind IS 'Kinds of task, as configure_kind() set them';

CREATE TABLE twtasks.reaction (
	kind			text COLLATE "C" NOT NULL,	-- Name of the kind whose outcomes start another
	decision		text COLLATE "C" NOT NULL,	-- ... with that decision; *: any
	then_kind		text COLLATE "C" NOT NULL,	-- Name of the kind that is started
	event_function	text,						-- Function that makes its event; NULL: the outcome is the event
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change
	CONSTRAINT reaction_pkey PRIMARY KEY (kind, decision, then_kind)
);
COMMENT ON TABLE twtasks.reaction IS 'Kinds that outcomes start, as on_outcome() set it';

/* The row is the lock of its identifier, and its memory after the history is gone. */
CREATE TABLE twtasks.outcome (
	started			timestamptz NOT NULL,		-- Time of start()
	expires			timestamptz,				-- No action begins after it; NULL: none
	decided			timestamptz,				-- Time of the decision; NULL: undecided
	due				timestamptz,				-- Time from which the step may run, or a problem is looked at again; NULL: at once
	until			timestamptz,				-- Time at which another's first step expires
	task			uuid,						-- Task of the last step; NULL: none yet
	attempt			integer NOT NULL DEFAULT 0,	-- Number of the last attempt, the fencing token
	spent			integer NOT NULL DEFAULT 0,	-- Attempts that failed
	repeats			integer NOT NULL DEFAULT 0,	-- Steps that only look or undo, and failed in a row
	may_act			boolean NOT NULL DEFAULT true,	-- Another action is allowed
	uncertain		boolean NOT NULL DEFAULT false,	-- The outcome was decided without knowing the end of the action
	reacted			boolean NOT NULL DEFAULT true,	-- Its reactions are started
	kind			text COLLATE "C" NOT NULL,	-- Name of its kind
	identifier		text COLLATE "C" NOT NULL,	-- Names the action
	step			text NOT NULL,				-- The step under way; the last one, once it is decided
	event			jsonb NOT NULL,				-- As given to start()
	read_model		jsonb,						-- The view of it that people get
	first			jsonb,						-- Outcome of the own first step
	verdict			jsonb,						-- Decision that waits for an undo
	fault			text,						-- The last fault
	answer			jsonb,						-- Answer of a step that could not be followed; NULL: none
	problem			text,						-- ... and the reason; NULL: none
	decision		text,						-- The decision; NULL: undecided
	outcome			jsonb,						-- ... and all that was decided
	decided_by		text,						-- Role of the person who decided; NULL: no person
	CONSTRAINT outcome_pkey PRIMARY KEY (identifier, kind)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX outcome_task ON twtasks.outcome (task) WHERE task IS NOT NULL;
CREATE INDEX outcome_problem ON twtasks.outcome (due) WHERE problem IS NOT NULL;
CREATE INDEX outcome_undecided ON twtasks.outcome (kind, started) WHERE decided IS NULL;
COMMENT ON TABLE twtasks.outcome IS 'Identifiers that were started, one row each: how far they are, and their outcome';

CREATE TABLE twtasks.attempt (
	started			timestamptz NOT NULL,		-- Time from which the step may run
	expires			timestamptz,				-- The step begins before it, or not at all; NULL: at any time
	ended			timestamptz,				-- Time of its end; NULL: it has not ended
	task			uuid NOT NULL,				-- The task
	number			integer NOT NULL,			-- Number of the attempt
	kind			text COLLATE "C" NOT NULL,	-- Name of the kind
	identifier		text COLLATE "C" NOT NULL,	-- The identifier
	step			text NOT NULL,				-- The step
	answer			text,						-- The answer as kind_rule names it; NULL: it has not ended
	fault			text,						-- The fault; NULL: none
	CONSTRAINT attempt_pkey PRIMARY KEY (task)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX attempt_identifier ON twtasks.attempt (identifier, kind, number);
COMMENT ON TABLE twtasks.attempt IS 'Steps of identifiers, and how they ended';

CREATE TABLE twtasks.anomaly (
	seen			timestamptz NOT NULL,		-- Time at which it was seen
	closed			timestamptz,				-- Time of close_anomalies(); NULL: it is open
	task			uuid NOT NULL,				-- The task
	number			integer NOT NULL,			-- Number of the attempt
	kind			text COLLATE "C" NOT NULL,	-- Name of the kind
	identifier		text COLLATE "C" NOT NULL,	-- The identifier
	step			text NOT NULL,				-- The step
	what			text NOT NULL,				-- The reason why it counts no more
	result			text,						-- Result that the handler reported
	message			text,						-- ... and its message
	outcome			jsonb,						-- ... and its outcome
	closed_by		text,						-- Role that logged in and closed it
	reason			text						-- ... and why
);
-- The same result may come twice, so no columns are a key.
ALTER TABLE twtasks.anomaly REPLICA IDENTITY FULL;
CREATE INDEX anomaly_identifier ON twtasks.anomaly (kind, identifier);
COMMENT ON TABLE twtasks.anomaly IS 'Results that came after they were given up; a person should compare them with the outcome';

SELECT pg_catalog.pg_extension_config_dump('twtasks.kind', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.reaction', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.outcome', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.attempt', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.anomaly', '');
COMMENT ON COLUMN twtasks.kind.name IS 'Names the kind in start()';
COMMENT ON COLUMN twtasks.kind.kind IS 'Support by the third party';
COMMENT ON COLUMN twtasks.kind.type IS 'Type of its step tasks';
COMMENT ON COLUMN twtasks.kind.identifier IS 'Template or function that makes the identifier of an event';
COMMENT ON COLUMN twtasks.kind.expires IS 'Time from start() in which actions may begin; NULL: for ever';
COMMENT ON COLUMN twtasks.kind.still_needed IS 'Function that says whether an action is still needed; NULL: it is';
COMMENT ON COLUMN twtasks.kind.on_expiry IS 'Function that decides for what has expired; NULL: the decision is expired';
COMMENT ON COLUMN twtasks.kind.attempts IS 'Most attempts; NULL: any number';
COMMENT ON COLUMN twtasks.kind.delay IS 'Time before the second attempt';
COMMENT ON COLUMN twtasks.kind.retry_function IS 'Function that says when to attempt again; NULL: delay, doubled each time';
COMMENT ON COLUMN twtasks.kind.on_fault IS 'Function that decides when no attempt is left; NULL: a person';
COMMENT ON COLUMN twtasks.kind.on_uncertain IS 'Function that decides when the end of an attempt is unknown';
COMMENT ON COLUMN twtasks.kind.read_model IS 'Function that makes what people read';
COMMENT ON COLUMN twtasks.kind.contract IS 'Function that says whether an answer is well-formed; NULL: any is';
COMMENT ON COLUMN twtasks.kind.decide IS 'Function that decides by read model and answer';
COMMENT ON COLUMN twtasks.kind.readers IS 'Roles that may read the items';
COMMENT ON COLUMN twtasks.kind.answerers IS 'Roles that may answer them';
COMMENT ON COLUMN twtasks.kind.changed_at IS 'Time of the last change';
COMMENT ON COLUMN twtasks.kind.changed_by IS 'Role that logged in and made the last change';
COMMENT ON COLUMN twtasks.reaction.kind IS 'Name of the kind whose outcomes start another';
COMMENT ON COLUMN twtasks.reaction.decision IS '... with that decision; *: any';
COMMENT ON COLUMN twtasks.reaction.then_kind IS 'Name of the kind that is started';
COMMENT ON COLUMN twtasks.reaction.event_function IS 'Function that makes its event; NULL: the outcome is the event';
COMMENT ON COLUMN twtasks.reaction.changed_at IS 'Time of the last change';
COMMENT ON COLUMN twtasks.reaction.changed_by IS 'Role that logged in and made the last change';
COMMENT ON COLUMN twtasks.outcome.started IS 'Time of start()';
COMMENT ON COLUMN twtasks.outcome.expires IS 'No action begins after it; NULL: none';
COMMENT ON COLUMN twtasks.outcome.decided IS 'Time of the decision; NULL: undecided';
COMMENT ON COLUMN twtasks.outcome.due IS 'Time from which the step may run, or a problem is looked at again; NULL: at once';
COMMENT ON COLUMN twtasks.outcome.until IS 'Time at which another''s first step expires';
COMMENT ON COLUMN twtasks.outcome.task IS 'Task of the last step; NULL: none yet';
COMMENT ON COLUMN twtasks.outcome.attempt IS 'Number of the last attempt, the fencing token';
COMMENT ON COLUMN twtasks.outcome.spent IS 'Attempts that failed';
COMMENT ON COLUMN twtasks.outcome.repeats IS 'Steps that only look or undo, and failed in a row';
COMMENT ON COLUMN twtasks.outcome.may_act IS 'Another action is allowed';
COMMENT ON COLUMN twtasks.outcome.uncertain IS 'The outcome was decided without knowing the end of the action';
COMMENT ON COLUMN twtasks.outcome.reacted IS 'Its reactions are started';
COMMENT ON COLUMN twtasks.outcome.kind IS 'Name of its kind';
COMMENT ON COLUMN twtasks.outcome.identifier IS 'Names the action';
COMMENT ON COLUMN twtasks.outcome.step IS 'The step under way; the last one, once it is decided';
COMMENT ON COLUMN twtasks.outcome.event IS 'As given to start()';
COMMENT ON COLUMN twtasks.outcome.read_model IS 'The view of it that people get';
COMMENT ON COLUMN twtasks.outcome.first IS 'Outcome of the own first step';
COMMENT ON COLUMN twtasks.outcome.verdict IS 'Decision that waits for an undo';
COMMENT ON COLUMN twtasks.outcome.fault IS 'The last fault';
COMMENT ON COLUMN twtasks.outcome.answer IS 'Answer of a step that could not be followed; NULL: none';
COMMENT ON COLUMN twtasks.outcome.problem IS '... and the reason; NULL: none';
COMMENT ON COLUMN twtasks.outcome.decision IS 'The decision; NULL: undecided';
COMMENT ON COLUMN twtasks.outcome.outcome IS '... and all that was decided';
COMMENT ON COLUMN twtasks.outcome.decided_by IS 'Role of the person who decided; NULL: no person';
COMMENT ON COLUMN twtasks.attempt.started IS 'Time from which the step may run';
COMMENT ON COLUMN twtasks.attempt.expires IS 'The step begins before it, or not at all; NULL: at any time';
COMMENT ON COLUMN twtasks.attempt.ended IS 'Time of its end; NULL: it has not ended';
COMMENT ON COLUMN twtasks.attempt.task IS 'The task';
COMMENT ON COLUMN twtasks.attempt.number IS 'Number of the attempt';
COMMENT ON COLUMN twtasks.attempt.kind IS 'Name of the kind';
COMMENT ON COLUMN twtasks.attempt.identifier IS 'The identifier';
COMMENT ON COLUMN twtasks.attempt.step IS 'The step';
COMMENT ON COLUMN twtasks.attempt.answer IS 'The answer as kind_rule names it; NULL: it has not ended';
COMMENT ON COLUMN twtasks.attempt.fault IS 'The fault; NULL: none';
COMMENT ON COLUMN twtasks.anomaly.seen IS 'Time at which it was seen';
COMMENT ON COLUMN twtasks.anomaly.closed IS 'Time of close_anomalies(); NULL: it is open';
COMMENT ON COLUMN twtasks.anomaly.task IS 'The task';
COMMENT ON COLUMN twtasks.anomaly.number IS 'Number of the attempt';
COMMENT ON COLUMN twtasks.anomaly.kind IS 'Name of the kind';
COMMENT ON COLUMN twtasks.anomaly.identifier IS 'The identifier';
COMMENT ON COLUMN twtasks.anomaly.step IS 'The step';
COMMENT ON COLUMN twtasks.anomaly.what IS 'The reason why it counts no more';
COMMENT ON COLUMN twtasks.anomaly.result IS 'Result that the handler reported';
COMMENT ON COLUMN twtasks.anomaly.message IS '... and its message';
COMMENT ON COLUMN twtasks.anomaly.outcome IS '... and its outcome';
COMMENT ON COLUMN twtasks.anomaly.closed_by IS 'Role that logged in and closed it';
COMMENT ON COLUMN twtasks.anomaly.reason IS '... and why';

-- extensions/kinds/kind_rules.sql
/*
 * The machines of all kinds.  go_on() obeys these rows; docs/kinds-machines.md
 * prints and draws them.
 *
 *		answer		of a step
 *		decided		it names the decision
 *		fault		the third party surely did nothing
 *		unknown		nobody knows whether it did
 *		expired		the step's task expired before it ran
 *		given_up	a person cancelled the task before it ran, or failed it
 *		cut_off		a person cancelled the task while it ran, so nobody knows either
 *		others		as the handler says
 *
 *		does		what follows it
 *		next		the next step, at once, in the same attempt
 *		act			the next step, at once, if the action is still needed and allowed;
 *					else the decision of expiry or of faults
 *		again		an attempt is spent: the next step after the back-off, in a new attempt
 *		repeat		the next step after a pause, in a new attempt; none is spent
 *		decide		the answer is the decision
 *		expire		on_expiry decides
 *		uncertain	on_uncertain decides
 *		adopt		the answer is the decision, after an undo
 *		settle		the decision that waited for the undo; after blocked the next step,
 *					when the step that was in the way expires
 */
CREATE TABLE twtasks_internal.kind_rule (
	kind		twtasks.task_kind NOT NULL,	-- The kind
	step		text NOT NULL,				-- The step that has answered; start: start() was called
	answer		text NOT NULL,				-- Its answer
	does		text NOT NULL,				-- The action that follows it
	next		text,						-- The next step; NULL: none
	CONSTRAINT kind_rule_pkey PRIMARY KEY (kind, step, answer)
);
COMMENT ON TABLE twtasks_internal.kind_rule IS 'The machines of all kinds: which answer of a step leads where';

INSERT INTO twtasks_internal.kind_rule (kind, step, answer, does, next) VALUES
	('idempotent',	'start',	'started',		'act',		'attempt'),
	('idempotent',	'attempt',	'decided',		'decide',	NULL),
	('idempotent',	'attempt',	'fault',		'again',	'attempt'),
	('idempotent',	'attempt',	'unknown',		'again',	'attempt'),
	('idempotent',	'attempt',	'expired',		'expire',	NULL),
	('idempotent',	'attempt',	'given_up',		'decide',	NULL),
	('idempotent',	'attempt',	'cut_off',		'decide',	NULL),

	('pessimistic',	'start',	'started',		'next',		'find'),
	('pessimistic',	'find',		'decided',		'decide',	NULL),
	('pessimistic',	'find',		'not_found',	'act',		'attempt'),
	('pessimistic',	'find',		'fault',		'repeat',	'find'),
	('pessimistic',	'find',		'unknown',		'repeat',	'find'),
	('pessimistic',	'find',		'expired',		'repeat',	'find'),
	('pessimistic',	'find',		'given_up',		'repeat',	'find'),
	('pessimistic',	'find',		'cut_off',		'repeat',	'find'),
	('pessimistic',	'attempt',	'decided',		'decide',	NULL),
	('pessimistic',	'attempt',	'fault',		'again',	'find'),
	('pessimistic',	'attempt',	'unknown',		'again',	'find'),
	('pessimistic',	'attempt',	'expired',		'expire',	NULL),
	('pessimistic',	'attempt',	'given_up',		'decide',	NULL),
	('pessimistic',	'attempt',	'cut_off',		'again',	'find'),

	('black_boxed',	'start',	'started',		'act',		'attempt'),
	('black_boxed',	'attempt',	'decided',		'decide',	NULL),
	('black_boxed',	'attempt',	'fault',		'again',	'attempt'),
	('black_boxed',	'attempt',	'unknown',		'uncertain', NULL),
	('black_boxed',	'attempt',	'expired',		'expire',	NULL),
	('black_boxed',	'attempt',	'given_up',		'decide',	NULL),
	('black_boxed',	'attempt',	'cut_off',		'uncertain', NULL),

	('optimistic',	'start',	'started',		'act',		'first'),
	('optimistic',	'first',	'done',			'next',		'look'),
	('optimistic',	'first',	'fault',		'again',	'look'),
	('optimistic',	'first',	'unknown',		'again',	'look'),
	('optimistic',	'first',	'expired',		'expire',	'undo'),
	('optimistic',	'first',	'given_up',		'adopt',	'undo'),
	('optimistic',	'first',	'cut_off',		'again',	'look'),
	('optimistic',	'look',		'own',			'act',		'second'),
	('optimistic',	'look',		'none',			'act',		'first'),
	('optimistic',	'look',		'blocked',		'next',		'undo'),
	('optimistic',	'look',		'completed',	'adopt',	'undo'),
	('optimistic',	'look',		'fault',		'repeat',	'look'),
	('optimistic',	'look',		'unknown',		'repeat',	'look'),
	('optimistic',	'look',		'expired',		'repeat',	'look'),
	('optimistic',	'look',		'given_up',		'repeat',	'look'),
	('optimistic',	'look',		'cut_off',		'repeat',	'look'),
	('optimistic',	'second',	'decided',		'decide',	NULL),
	('optimistic',	'second',	'fault',		'again',	'look'),
	('optimistic',	'second',	'unknown',		'again',	'look'),
	('optimistic',	'second',	'expired',		'expire',	'undo'),
	('optimistic',	'second',	'given_up',		'adopt',	'undo'),
	('optimistic',	'second',	'cut_off',		'again',	'look'),
	('optimistic',	'undo',		'done',			'settle',	'look'),
	('optimistic',	'undo',		'fault',		'repeat',	'undo'),
	('optimistic',	'undo',		'unknown',		'repeat',	'undo'),
	('optimistic',	'undo',		'expired',		'repeat',	'undo'),
	('optimistic',	'undo',		'given_up',		'settle',	'look'),
	('optimistic',	'undo',		'cut_off',		'settle',	'look'),

	('to_do',		'start',	'started',		'next',		'answer'),
	('to_do',		'answer',	'decided',		'decide',	NULL),
	('to_do',		'answer',	'fault',		'repeat',	'answer'),
	('to_do',		'answer',	'unknown',		'repeat',	'answer'),
	('to_do',		'answer',	'expired',		'expire',	NULL),
	('to_do',		'answer',	'given_up',		'decide',	NULL),
	('to_do',		'answer',	'cut_off',		'decide',	NULL);

-- extensions/kinds/identifiers.sql
/*
 * twtasks_internal.check_identifier(name, identifier)
 *
 *		Raises an error unless the text can name an action.
 *
 * Errors
 *		22023			it is NULL, empty, longer than 250 bytes, or has control characters
 */
CREATE FUNCTION twtasks_internal.check_identifier(name text, identifier text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF identifier IS NULL THEN
		RAISE EXCEPTION 'identifier of kind "%" is null', name USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF octet_length(identifier) NOT BETWEEN 1 AND 250 OR identifier ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid identifier of kind "%": "%"', name, twtasks_internal.shown(identifier)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'An identifier has 1 to 250 bytes and no control characters.';
	END IF;
END $$;

/*
 * twtasks_internal.fill_template(template, event)
 *
 *		Replaces each JSON pointer (RFC 6901) in braces by the value to which it points.
 *
 * Errors
 *		22023			the event has no text, number or boolean there
 */
CREATE FUNCTION twtasks_internal.fill_template(template text, event jsonb)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	piece text[];
	value jsonb;
	filled text := '';
BEGIN
	FOR piece IN SELECT regexp_matches(template, '([^{}]*)(?:\{/([^{}]*)\})?', 'g') LOOP
		filled := filled || piece[1];
		CONTINUE WHEN piece[2] IS NULL;
		value := event #> ARRAY(SELECT replace(replace(p.name, '~1', '/'), '~0', '~')
								FROM unnest(string_to_array(piece[2], '/')) WITH ORDINALITY p(name, n) ORDER BY p.n);
		IF value IS NULL OR jsonb_typeof(value) NOT IN ('string', 'number', 'boolean') THEN
			RAISE EXCEPTION 'path "/%" names no value', piece[2]
				USING ERRCODE = 'invalid_parameter_value',
					DETAIL = format('The identifier "%s" needs a text, a number or a boolean there.', template);
		END IF;
		filled := filled || (value #>> '{}');
	END LOOP;
	RETURN filled;
END $$;

/*
 * twtasks_internal.identifier_of(known, event)
 *
 *		Returns the identifier that the kind's template or function makes of an event.
 *
 * Errors
 *		22023			the event lacks a value, or the identifier is not valid; all errors of
 *						the function
 */
CREATE FUNCTION twtasks_internal.identifier_of(known twtasks.kind, event jsonb)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT text := CASE WHEN known.identifier ~ '\{'
		THEN twtasks_internal.fill_template(known.identifier, event)
		ELSE twtasks_internal.call_function('identifier', known.identifier, 'text', NULL, event) END;
BEGIN
	PERFORM twtasks_internal.check_identifier(known.name, made);
	RETURN made;
END $$;

/*
 * twtasks_internal.kind_named(name)
 *
 *		Returns the kind of that name.
 *
 * Errors
 *		22004			name is NULL
 *		42704			there is no such kind
 */
CREATE FUNCTION twtasks_internal.kind_named(name text)
RETURNS twtasks.kind
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	known twtasks.kind;
BEGIN
	IF name IS NULL THEN
		RAISE EXCEPTION 'name must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT k.* INTO known FROM twtasks.kind k WHERE k.name = name;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'kind "%" is not configured', twtasks_internal.shown(name)
			USING ERRCODE = 'undefined_object', HINT = 'Configure it with twtasks.configure_kind().';
	END IF;
	RETURN known;
END $$;
COMMENT ON FUNCTION twtasks_internal.check_identifier IS 'Raises an error unless the text can name an action.';
COMMENT ON FUNCTION twtasks_internal.fill_template IS 'Replaces each JSON pointer (RFC 6901) in braces by the value to which it points.';
COMMENT ON FUNCTION twtasks_internal.identifier_of IS 'Returns the identifier that the kind''s template or function makes of an event.';
COMMENT ON FUNCTION twtasks_internal.kind_named IS 'Returns the kind of that name.';

-- extensions/kinds/configure_kind.sql
/*
 * twtasks.configure_kind(name, kind, type, identifier, ...)
 *
 *		Makes a kind of task, or replaces all that is set for it.  Steps under way keep
 *		their tasks; what follows them obeys the new configuration.
 *
 *		The type gets policies for its steps: each is tried once, and its end moves the
 *		identifier on.  Other tasks of that type should not exist.
 *
 * Parameters
 *		name			1 to 250 bytes, no control characters
 *		kind			idempotent, pessimistic, black_boxed, optimistic or to_do
 *		type			of the step tasks; of this kind only
 *		identifier		a template such as 'refund-{/payment}', with JSON pointers into the
 *						event, or a function (event jsonb) returns text
 *		expires			no action begins later than this after start(); NULL: no limit
 *		still_needed	a function (event jsonb, identifier text) returns boolean, asked
 *						when an action is planned, which is before its back-off; NULL:
 *						actions are needed until they expire
 *		on_expiry		a function (event jsonb, identifier text) returns jsonb, the
 *						decision for what is no longer needed; NULL: {"decision": "expired"}
 *		attempts		most attempts of the action: 1 is at most once; NULL: any number
 *		delay			time before the second attempt; it doubles with each, to an hour
 *		retry_function	a function (event jsonb, identifier text, attempts integer, fault
 *						text) returns interval, in place of delay; NULL: no more attempts
 *		on_fault		a function (event jsonb, identifier text, fault text) returns jsonb,
 *						the decision when no attempt is left; without one, or if it returns
 *						NULL, a person must decide: see "problem" in twtasks.outcomes
 *		on_uncertain	black_boxed only, and needed there: a function (event jsonb,
 *						identifier text, started timestamptz) returns jsonb, the decision
 *						when nobody knows how the action ended
 *		read_model		to_do only: a function (event jsonb) returns jsonb, what people read;
 *						NULL: the event
 *		contract		to_do only: a function (data jsonb) returns boolean; NULL: any answer
 *						fulfils it
 *		decide			to_do only, and needed there: an IMMUTABLE function (read_model
 *						jsonb, data jsonb) returns jsonb, the decision.  It runs as a role
 *						without rights, and cannot write
 *		readers, answerers	to_do only: roles that may read and answer; NULL: none
 *
 *		Functions are named with their schema, fix their search_path, and run with the
 *		rights of their owners.  A decision is an object with the text "decision".
 *
 * Errors
 *		22004			name, kind, type, identifier or delay is NULL
 *		22023			a value is not valid, or not one of this kind
 *		42501			the caller names functions, and is neither a superuser nor the owner
 *						of the database nor a member of twtasks_owner
 *		42704			a role does not exist
 *		42883			a function does not exist
 *		55000			the type is another kind's or has another on_end function, or kind
 *						and type cannot change while identifiers are undecided, or identifier
 *						cannot change once there are some
 *
 * Writes		twtasks.kind, twtasks.type_policy, twtasks.policy_audit
 * Locks		twtasks.kind in SHARE ROW EXCLUSIVE mode, which lets others read; if kind or
 *				type change, in EXCLUSIVE mode, for which start() waits
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_kind('refund', 'pessimistic', 'REFUND', 'refund-{/payment}', attempts => 5);
 */
CREATE FUNCTION twtasks.configure_kind(
	name text,
	kind twtasks.task_kind,
	type text,
	identifier text,
	expires interval DEFAULT NULL,
	still_needed text DEFAULT NULL,
	on_expiry text DEFAULT NULL,
	attempts integer DEFAULT NULL,
	delay interval DEFAULT '5s',
	retry_function text DEFAULT NULL,
	on_fault text DEFAULT NULL,
	on_uncertain text DEFAULT NULL,
	read_model text DEFAULT NULL,
	contract text DEFAULT NULL,
	decide text DEFAULT NULL,
	readers text[] DEFAULT NULL,
	answerers text[] DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.check_kind_names(given)
 *
 *		Checks the names and figures among the parameters of configure_kind().
 *
 * Errors
 *		22004, 22023, 42704		as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_names(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray text;
BEGIN
	IF given.name IS NULL OR given.kind IS NULL OR given.type IS NULL OR given.identifier IS NULL OR given.delay IS NULL THEN
		RAISE EXCEPTION 'name, kind, type, identifier and delay must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF octet_length(given.name) NOT BETWEEN 1 AND 250 OR given.name ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid name of a kind: "%"', twtasks_internal.shown(given.name)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'A name has 1 to 250 bytes and no control characters.';
	END IF;
	IF given.type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(given.type)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".';
	END IF;
	IF given.identifier ~ '[{}]' AND given.identifier !~ '^([^{}]*\{/[^{}]+\})+[^{}]*$' THEN
		RAISE EXCEPTION 'invalid template of an identifier: "%"', twtasks_internal.shown(given.identifier)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Write JSON pointers in braces, such as ''refund-{/payment/id}''.';
	END IF;
	IF given.attempts NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'attempts must be between 1 and 1000000, not %', given.attempts
			USING ERRCODE = 'invalid_parameter_value', HINT = 'NULL allows any number.';
	END IF;
	PERFORM twtasks_internal.check_duration('expires', given.expires, '1 ms'::interval, '100 years'::interval),
			twtasks_internal.check_duration('delay', given.delay, '0'::interval, '1 h'::interval);
	SELECT r INTO stray FROM unnest(given.readers || given.answerers) r WHERE to_regrole(quote_ident(r)) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'role "%" does not exist', twtasks_internal.shown(stray) USING ERRCODE = 'undefined_object';
	END IF;
END $$;

/*
 * twtasks_internal.check_kind_options(given)
 *
 *		Checks that configure_kind() was given the options that this kind needs, and
 *		none that it does not know.
 *
 * Errors
 *		22023			as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_options(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	options CONSTANT jsonb := jsonb_strip_nulls(to_jsonb(given)) - '{name,kind,type,identifier,expires,still_needed,on_expiry,delay}'::text[];
	known CONSTANT text[] := CASE given.kind
		WHEN 'to_do' THEN '{read_model,contract,decide,readers,answerers}'
		WHEN 'black_boxed' THEN '{attempts,retry_function,on_fault,on_uncertain}'
		ELSE '{attempts,retry_function,on_fault}' END;
	needed CONSTANT text := CASE given.kind WHEN 'to_do' THEN 'decide' WHEN 'black_boxed' THEN 'on_uncertain' END;
	stray CONSTANT text := (SELECT min(o) FROM jsonb_object_keys(options) o WHERE o <> ALL (known));
BEGIN
	IF stray IS NOT NULL THEN
		RAISE EXCEPTION 'kind % has no option %', given.kind, stray
			USING ERRCODE = 'invalid_parameter_value', HINT = format('Its own options are %s.', array_to_string(known, ', '));
	END IF;
	IF needed IS NOT NULL AND NOT options ? needed THEN
		RAISE EXCEPTION 'kind % needs a function for %', given.kind, needed USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.check_kind_functions(given)
 *
 *		Checks that the functions among the parameters of configure_kind() exist and
 *		may be named by the caller.
 *
 * Errors
 *		22023, 42501, 42883		as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_functions(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	identifier CONSTANT text := CASE WHEN given.identifier !~ '\{' THEN given.identifier END;
	about CONSTANT regtype[] := '{jsonb,text}';
BEGIN
	PERFORM twtasks_internal.check_may_name(identifier, given.still_needed, given.on_expiry, given.retry_function,
				given.on_fault, given.on_uncertain, given.read_model, given.contract, given.decide),
			twtasks_internal.check_function('identifier', identifier, '{jsonb}', 'text'),
			twtasks_internal.check_function('still_needed', given.still_needed, about, 'boolean'),
			twtasks_internal.check_function('on_expiry', given.on_expiry, about, 'jsonb'),
			twtasks_internal.check_function('retry_function', given.retry_function, about || '{integer,text}', 'interval'),
			twtasks_internal.check_function('on_fault', given.on_fault, about || 'text'::regtype, 'jsonb'),
			twtasks_internal.check_function('on_uncertain', given.on_uncertain, about || 'timestamptz'::regtype, 'jsonb'),
			twtasks_internal.check_function('read_model', given.read_model, '{jsonb}', 'jsonb'),
			twtasks_internal.check_function('contract', given.contract, '{jsonb}', 'boolean'),
			twtasks_internal.check_function('decide', given.decide, '{jsonb,jsonb}', 'jsonb');
	-- By the catalog: the owner of twtasks may have no rights in the function's schema.
	IF EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			   WHERE n.nspname = (parse_ident(given.decide))[1] AND p.proname = (parse_ident(given.decide))[2]
				 AND p.pronargs = 2 AND p.proargtypes[0] = 'jsonb'::regtype AND p.proargtypes[1] = 'jsonb'::regtype
				 AND (p.provolatile <> 'i' OR p.prosecdef)) THEN
		RAISE EXCEPTION 'function "%" for decide must be IMMUTABLE and SECURITY INVOKER', given.decide
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'It decides by the read model and the answer, and nothing else.';
	END IF;
END $$;

/*
 * twtasks_internal.keep_step_policy()
 *
 *		Refuses changes of the policies on which the kinds of a type rely: a step that
 *		was tried twice, or taken over early, could act twice.
 *
 * Errors
 *		55000			the policy is a kind's
 */
CREATE FUNCTION twtasks_internal.keep_step_policy()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := (SELECT k.name FROM twtasks.kind k WHERE k.type = OLD.pattern);
	kept CONSTANT text[] := '{on_end,retry,retry_function,reset_tries,stuck,stuck_function,takeover}';
BEGIN
	IF name IS NOT NULL AND (TG_OP = 'DELETE' OR OLD.pattern <> NEW.pattern
		OR EXISTS (SELECT FROM unnest(kept) o WHERE OLD.options->o IS DISTINCT FROM NEW.options->o)) THEN
		RAISE EXCEPTION 'these policies of type "%" belong to kind "%"', OLD.pattern, name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Change the kind with twtasks.configure_kind(). Other options of the type can be changed.';
	END IF;
	RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER keep_step_policy BEFORE UPDATE OR DELETE ON twtasks.type_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.keep_step_policy();
ALTER TRIGGER keep_step_policy ON twtasks.type_policy DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.keep_step_ended()
 *
 *		Refuses to reopen a step: its identifier has gone on, so it would act beside
 *		the next step.
 *
 * Errors
 *		55000			the task is a step
 */
CREATE FUNCTION twtasks_internal.keep_step_ended()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	step twtasks.attempt;
BEGIN
	SELECT a.* INTO step FROM twtasks.attempt a WHERE a.task = NEW.task_id;
	IF FOUND THEN
		RAISE EXCEPTION 'step "%" of "%" cannot be reopened', step.step, step.identifier
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its kind "%s" has gone on from task %s.', step.kind, step.task),
				HINT = 'To reopen many tasks, name types that belong to no kind.';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER keep_step_ended BEFORE INSERT ON twtasks.audit
	FOR EACH ROW WHEN (NEW.action = 'reopen') EXECUTE FUNCTION twtasks_internal.keep_step_ended();
ALTER TRIGGER keep_step_ended ON twtasks.audit DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.has_undecided(name)
 *
 *		Whether a kind has undecided identifiers.  Transactions that have started some
 *		are waited for; no others start until this one ends.
 *
 * Locks		twtasks.kind in EXCLUSIVE mode, which lets others read
 */
CREATE FUNCTION twtasks_internal.has_undecided(name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	LOCK TABLE twtasks.kind IN EXCLUSIVE MODE;
	RETURN EXISTS (SELECT FROM twtasks.outcome o WHERE o.kind = name AND o.decided IS NULL);
END $$;

/*
 * twtasks_internal.configure_kind_as_owner(given)
 *
 *		Does the work of configure_kind(), whose parameters are the columns of the row.
 *
 * Writes		as configure_kind()
 */
CREATE FUNCTION twtasks_internal.configure_kind_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hook CONSTANT text := 'twtasks_internal.end_steps';
	on_end text;
	before twtasks.kind;
BEGIN
	PERFORM twtasks_internal.check_kind_names(given),
			twtasks_internal.check_kind_options(given),
			twtasks_internal.check_kind_functions(given);
	LOCK TABLE twtasks.kind IN SHARE ROW EXCLUSIVE MODE;
	SELECT k.* INTO before FROM twtasks.kind k WHERE k.name = given.name;
	SELECT p.on_end INTO on_end FROM twtasks.policy_of(given.type) p;
	IF on_end <> ALL (ARRAY[hook, 'none'])
		OR EXISTS (SELECT FROM twtasks.kind k WHERE k.type = given.type AND k.name <> given.name) THEN
		RAISE EXCEPTION 'type "%" is used by another kind or has another on_end function', given.type
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Give the kind a type of its own.';
	END IF;
	IF (before.kind <> given.kind OR before.type <> given.type)
		AND twtasks_internal.has_undecided(given.name) THEN
		RAISE EXCEPTION 'kind "%" cannot become % of type "%"', given.name, given.kind, given.type
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Some of its identifiers are undecided.';
	END IF;
	-- By another template the same event would name another action.
	IF before.identifier <> given.identifier AND EXISTS (SELECT FROM twtasks.outcome o WHERE o.kind = given.name) THEN
		RAISE EXCEPTION 'kind "%" cannot make other identifiers', given.name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Actions were started under the old ones, and would be done again.',
				HINT = 'Give the new identifiers a kind of their own.';
	END IF;
	DELETE FROM twtasks.kind k WHERE k.name = given.name;
	PERFORM twtasks.configure_type(given.type, on_end => hook, retry => '"none"', retry_function => 'none',
		reset_tries => false, stuck => 'error', stuck_function => 'none',
		-- An idempotent action may run twice at the same time; others wait until it is over.
		takeover => CASE given.kind WHEN 'idempotent' THEN 'gone' ELSE 'deadline' END::twtasks.takeover_rule);
	INSERT INTO twtasks.kind
	VALUES (given.name, given.kind, given.type, given.identifier, given.expires, given.still_needed, given.on_expiry,
			given.attempts, given.delay, given.retry_function, given.on_fault, given.on_uncertain, given.read_model,
			given.contract, given.decide, given.readers, given.answerers, clock_timestamp(), twtasks_internal.actor());
END $$;
COMMENT ON FUNCTION twtasks.configure_kind IS 'Makes a kind of task, or replaces all that is set for it.  Steps under way keep their tasks; what follows them obeys the new configuration.';
COMMENT ON FUNCTION twtasks_internal.check_kind_names IS 'Checks the names and figures among the parameters of configure_kind().';
COMMENT ON FUNCTION twtasks_internal.check_kind_options IS 'Checks that configure_kind() was given the options that this kind needs, and none that it does not know.';
COMMENT ON FUNCTION twtasks_internal.check_kind_functions IS 'Checks that the functions among the parameters of configure_kind() exist and may be named by the caller.';
COMMENT ON FUNCTION twtasks_internal.keep_step_policy IS 'Refuses changes of the policies on which the kinds of a type rely: a step that was tried twice, or taken over early, could act twice.';
COMMENT ON FUNCTION twtasks_internal.keep_step_ended IS 'Refuses to reopen a step: its identifier has gone on, so it would act beside the next step.';
COMMENT ON FUNCTION twtasks_internal.has_undecided IS 'Whether a kind has undecided identifiers.  Transactions that have started some are waited for; no others start until this one ends.';
COMMENT ON FUNCTION twtasks_internal.configure_kind_as_owner IS 'Does the work of configure_kind(), whose parameters are the columns of the row.';

-- extensions/kinds/steps.sql
/*
 * twtasks_internal.keep_outcome(state)
 *
 *		Writes the row of an identifier back.
 *
 * Writes		twtasks.outcome
 */
CREATE FUNCTION twtasks_internal.keep_outcome(state twtasks.outcome)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.outcome o
	SET decided = state.decided, due = state.due, until = state.until, task = state.task, attempt = state.attempt, spent = state.spent,
		repeats = state.repeats, may_act = state.may_act, uncertain = state.uncertain, step = state.step, first = state.first,
		verdict = state.verdict, fault = state.fault, answer = state.answer, problem = state.problem,
		decision = state.decision, outcome = state.outcome, decided_by = state.decided_by
	WHERE o.kind = state.kind AND o.identifier = state.identifier
$$;

/*
 * twtasks_internal.retire_step(state)
 *
 *		Moves the last step's task to the history if it is in ERROR: what follows it is
 *		known, so no person needs to look.
 *
 * Writes		twtasks.task, twtasks.finished_task
 */
CREATE FUNCTION twtasks_internal.retire_step(state twtasks.outcome)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.end_now(ARRAY[t.id], '{FAILED}', ARRAY[t.error])
	FROM twtasks.task t WHERE t.id = state.task AND t.status = 'ERROR'
$$;

/*
 * twtasks_internal.add_step(known, state, wanted)
 *
 *		Makes a step the next one of an identifier, as a task.  A step that acts
 *		expires with its identifier; one that only looks or undoes never does.
 *
 * Errors
 *		23505			somebody has added a task with the key of the step
 *
 * Writes		twtasks.task, twtasks.attempt, twtasks.outcome
 * Wakes		after commit one sidecar
 */
CREATE FUNCTION twtasks_internal.add_step(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- For people to find.  Its end keeps others from taking it before.
	key CONSTANT text := format('%s:%s#%s.%s~%s', state.kind, state.identifier, state.attempt, wanted,
								to_hex((random() * 4294967295)::bigint));
	from_when CONSTANT timestamptz := coalesce(state.due, twtasks.clock());
	expires CONSTANT timestamptz := CASE WHEN wanted IN ('attempt', 'first', 'second', 'answer') THEN state.expires END;
	added twtasks.added_task;
BEGIN
	PERFORM twtasks_internal.retire_step(state);
	SELECT t.* INTO added FROM twtasks.add_task(
		known.type,
		jsonb_build_object('step', wanted, 'identifier', state.identifier, 'event', state.event,
						   'attempt', state.attempt, 'started', from_when)
			|| CASE WHEN state.first IS NULL THEN '{}' ELSE jsonb_build_object('first', state.first) END,
		key => key,
		-- No handler runs an item that waits for a person.
		run_after => CASE WHEN wanted = 'answer' THEN '9999-12-31' ELSE state.due END,
		expires => expires,
		context => CASE WHEN known.kind = 'idempotent'
						THEN jsonb_build_object('idempotency_key', state.identifier) END) t;
	IF added.result <> 'added' THEN
		RAISE EXCEPTION 'another task has the key "%"', key USING ERRCODE = 'unique_violation';
	END IF;
	state.task := added.task_id;
	INSERT INTO twtasks.attempt (started, expires, task, number, kind, identifier, step)
	VALUES (from_when, expires, state.task, state.attempt, state.kind, state.identifier, wanted);
	state.step := wanted;
	state.answer := NULL;
	state.problem := NULL;
	PERFORM twtasks_internal.keep_outcome(state);
END $$;
COMMENT ON FUNCTION twtasks_internal.keep_outcome IS 'Writes the row of an identifier back.';
COMMENT ON FUNCTION twtasks_internal.retire_step IS 'Moves the last step''s task to the history if it is in ERROR: what follows it is known, so no person needs to look.';
COMMENT ON FUNCTION twtasks_internal.add_step IS 'Makes a step the next one of an identifier, as a task.  A step that acts expires with its identifier; one that only looks or undoes never does.';

-- extensions/kinds/decide.sql
/*
 * twtasks.on_outcome(kind, decision, then_kind, event_function)
 *
 *		Lets the outcomes of a kind start another kind, in the same transaction.  If
 *		that fails, the outcome stays, and the sidecars try again every few seconds.
 *
 * Parameters
 *		kind			name of the kind whose outcomes count
 *		decision		the decision that counts; *: any
 *		then_kind		name of the kind that is started
 *		event_function	a function (event jsonb, identifier text, outcome jsonb) returns
 *						jsonb, the event; if it returns NULL, nothing starts.  NULL: the event
 *						is {"identifier", "event", "outcome"}.  'none' removes the reaction
 *
 * Errors
 *		22004			kind, decision or then_kind is NULL
 *		22023			the function does not fix its search_path
 *		42501			the caller may not name functions, as for configure_kind()
 *		42704			a kind is not configured
 *		42883			the function does not exist
 *
 * Writes		twtasks.reaction
 * Example		SELECT twtasks.on_outcome('payment', 'paid', 'shipment');
 */
CREATE FUNCTION twtasks.on_outcome(
	kind text,
	decision text,
	then_kind text,
	event_function text DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.on_outcome_as_owner(given)
 *
 *		Does the work of on_outcome(), whose parameters are the columns of the row.
 *
 * Writes		twtasks.reaction
 */
CREATE FUNCTION twtasks_internal.on_outcome_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF given.decision IS NULL THEN
		RAISE EXCEPTION 'decision must not be null' USING ERRCODE = 'null_value_not_allowed', HINT = '* is any decision.';
	END IF;
	PERFORM twtasks_internal.kind_named(given.kind), twtasks_internal.kind_named(given.then_kind);
	IF given.event_function = 'none' THEN
		DELETE FROM twtasks.reaction r
		WHERE (r.kind, r.decision, r.then_kind) = (given.kind, given.decision, given.then_kind);
		RETURN;
	END IF;
	PERFORM twtasks_internal.check_may_name(given.event_function),
			twtasks_internal.check_function('event_function', given.event_function, '{jsonb,text,jsonb}', 'jsonb');
	INSERT INTO twtasks.reaction AS r
	VALUES (given.kind, given.decision, given.then_kind, given.event_function, clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT ON CONSTRAINT reaction_pkey DO UPDATE SET
		event_function = EXCLUDED.event_function, changed_at = EXCLUDED.changed_at, changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks_internal.start_reactions(state)
 *
 *		Starts what an outcome starts.  Kinds that it has started already stay as they
 *		are, so the function may be called again.  Locks are waited for only shortly,
 *		since the end of a task waits for this.
 *
 * Writes		twtasks.outcome, and as start()
 */
CREATE FUNCTION twtasks_internal.start_reactions(state twtasks.outcome)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
DECLARE
	reaction twtasks.reaction;
	wanted jsonb;
BEGIN
	FOR reaction IN
		SELECT r.* FROM twtasks.reaction r
		WHERE r.kind = state.kind AND r.decision IN (state.decision, '*') ORDER BY r.then_kind, r.decision
	LOOP
		wanted := CASE WHEN reaction.event_function IS NULL
			THEN jsonb_build_object('identifier', state.identifier, 'event', state.event, 'outcome', state.outcome)
			ELSE twtasks_internal.call_function('event_function', reaction.event_function, 'jsonb', NULL,
												state.event, state.identifier, state.outcome)::jsonb END;
		IF wanted IS NOT NULL THEN
			PERFORM twtasks_internal.start_kind(twtasks_internal.kind_named(reaction.then_kind), wanted);
		END IF;
	END LOOP;
	UPDATE twtasks.outcome o SET reacted = true, due = NULL, problem = NULL
	WHERE o.kind = state.kind AND o.identifier = state.identifier AND NOT o.reacted;
EXCEPTION WHEN OTHERS OR query_canceled THEN
	UPDATE twtasks.outcome o
	SET reacted = false, problem = twtasks_internal.cut_message(SQLERRM), due = twtasks.clock() + interval '3 s'
	WHERE o.kind = state.kind AND o.identifier = state.identifier;
END $$;

/*
 * twtasks_internal.is_decision(verdict)
 *
 *		Whether it is an object with the text "decision".
 */
CREATE FUNCTION twtasks_internal.is_decision(verdict jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_typeof(verdict) = 'object' AND jsonb_typeof(verdict->'decision') = 'string'
					AND octet_length(verdict->>'decision') BETWEEN 1 AND 250, false)
$$;

/*
 * twtasks_internal.decide(state, verdict, by)
 *
 *		Gives an identifier its outcome, and starts what that starts.
 *
 * Parameters
 *		verdict			an object with the text "decision"
 *		by				the person who decided; NULL: no person
 *
 * Errors
 *		22023			verdict is no such object
 *
 * Writes		twtasks.outcome, and as start()
 */
CREATE FUNCTION twtasks_internal.decide(state twtasks.outcome, verdict jsonb, by text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT twtasks_internal.is_decision(verdict) THEN
		RAISE EXCEPTION 'a decision must be an object with the text "decision"'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('It is %s.', coalesce(left(verdict::text, 200), 'null'));
	END IF;
	PERFORM twtasks_internal.retire_step(state);
	state.decided := twtasks.clock();
	state.decision := verdict->>'decision';
	state.outcome := verdict;
	state.decided_by := by;
	state.task := NULL;
	state.first := NULL;
	state.verdict := NULL;
	state.due := NULL;
	state.until := NULL;
	state.answer := NULL;
	state.problem := NULL;
	PERFORM twtasks_internal.keep_outcome(state);
	PERFORM twtasks_internal.start_reactions(state);
END $$;
COMMENT ON FUNCTION twtasks.on_outcome IS 'Lets the outcomes of a kind start another kind, in the same transaction.  If that fails, the outcome stays, and the sidecars try again every few seconds.';
COMMENT ON FUNCTION twtasks_internal.on_outcome_as_owner IS 'Does the work of on_outcome(), whose parameters are the columns of the row.';
COMMENT ON FUNCTION twtasks_internal.start_reactions IS 'Starts what an outcome starts.  Kinds that it has started already stay as they are, so the function may be called again.  Locks are waited for only shortly, since the end of a task waits for this.';
COMMENT ON FUNCTION twtasks_internal.is_decision IS 'Whether it is an object with the text "decision". / CREATE FUNCTION twtasks_internal.is_decision(verdict jsonb)';
COMMENT ON FUNCTION twtasks_internal.decide IS 'Gives an identifier its outcome, and starts what that starts.';

-- extensions/kinds/go_on.sql
/*
 * twtasks_internal.wait_of(first, n)
 *
 *		The back-off before attempt n + 1: the first one doubled with each attempt, at
 *		most an hour, and up to 10 % shorter, so that attempts which failed together
 *		are not repeated together.
 */
CREATE FUNCTION twtasks_internal.wait_of(first interval, n integer)
RETURNS interval
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT least(first * power(2, least(greatest(n, 1), 16) - 1), '1 h') * (1 - random() / 10)
$$;

/*
 * twtasks_internal.expiry_of(known, state)
 *
 *		Returns the decision for an identifier that has expired or is no longer needed.
 *
 * Errors
 *		all errors of on_expiry
 */
CREATE FUNCTION twtasks_internal.expiry_of(known twtasks.kind, state twtasks.outcome)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN known.on_expiry IS NULL THEN '{"decision": "expired"}'
				ELSE twtasks_internal.call_function('on_expiry', known.on_expiry, 'jsonb', NULL,
													state.event, state.identifier)::jsonb END
$$;

/*
 * twtasks_internal.is_over(known, state)
 *
 *		Whether the action of an identifier has expired or is no longer needed.
 *
 * Errors
 *		all errors of still_needed
 */
CREATE FUNCTION twtasks_internal.is_over(known twtasks.kind, state twtasks.outcome)
RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(state.expires <= twtasks.clock(), false)
		OR known.still_needed IS NOT NULL
		AND NOT coalesce(twtasks_internal.call_function('still_needed', known.still_needed, 'boolean', NULL,
														state.event, state.identifier)::boolean, true)
$$;

/*
 * twtasks_internal.leave(known, state, undo, verdict)
 *
 *		Ends the attempts of an identifier with that decision, after an undo if that
 *		is the name of a step.
 *
 * Writes		as decide() or add_step()
 */
CREATE FUNCTION twtasks_internal.leave(known twtasks.kind, state twtasks.outcome, undo text, verdict jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF undo IS NULL THEN
		PERFORM twtasks_internal.decide(state, verdict);
	ELSE
		state.verdict := verdict;
		state.due := NULL;
		PERFORM twtasks_internal.add_step(known, state, undo);
	END IF;
END $$;

/*
 * twtasks_internal.act(known, state, wanted)
 *
 *		Adds a step that acts, if the action is still needed and allowed.  If not,
 *		on_expiry or on_fault decides.
 *
 * Errors
 *		55000			no attempt is left, and no function decides; all errors of the kind's
 *						functions
 *
 * Writes		as add_step() or leave()
 */
CREATE FUNCTION twtasks_internal.act(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	undo CONSTANT text := CASE WHEN known.kind = 'optimistic' AND state.task IS NOT NULL THEN 'undo' END;
	verdict jsonb := state.verdict;
BEGIN
	IF verdict IS NOT NULL THEN
		PERFORM twtasks_internal.leave(known, state, undo, verdict);
	ELSIF twtasks_internal.is_over(known, state) THEN
		PERFORM twtasks_internal.leave(known, state, undo, twtasks_internal.expiry_of(known, state));
	ELSIF state.may_act THEN
		PERFORM twtasks_internal.add_step(known, state, wanted);
	ELSE
		verdict := CASE WHEN known.on_fault IS NOT NULL
			THEN twtasks_internal.call_function('on_fault', known.on_fault, 'jsonb', NULL,
												state.event, state.identifier, state.fault)::jsonb END;
		IF verdict IS NULL THEN
			RAISE EXCEPTION 'no attempt is left, and no function decides'
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		PERFORM twtasks_internal.leave(known, state, undo, verdict);
	END IF;
END $$;

/*
 * twtasks_internal.spend(known, state)
 *
 *		Counts an attempt that failed: returns the row with the new counts, the time
 *		of the next attempt, and whether it may act.
 *
 * Errors
 *		all errors of retry_function
 */
CREATE FUNCTION twtasks_internal.spend(known twtasks.kind, state twtasks.outcome)
RETURNS twtasks.outcome
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wait interval;
BEGIN
	state.attempt := state.attempt + 1;
	state.spent := state.spent + 1;
	wait := CASE WHEN known.retry_function IS NULL THEN twtasks_internal.wait_of(known.delay, state.spent)
		ELSE twtasks_internal.call_function('retry_function', known.retry_function, 'interval', NULL,
											state.event, state.identifier, state.spent, state.fault)::interval END;
	state.may_act := wait IS NOT NULL AND (known.attempts IS NULL OR state.spent < known.attempts);
	state.due := twtasks.clock() + wait;
	RETURN state;
END $$;

/*
 * twtasks_internal.settle(known, state, wanted)
 *
 *		Goes on after an undo: decides as was decided before it, or takes the next step
 *		when the first step that was in the way has expired.
 *
 * Writes		as decide() or add_step()
 */
CREATE FUNCTION twtasks_internal.settle(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A completed second step that was in the way may be our own.
	IF state.verdict IS NOT NULL AND state.until IS NULL THEN
		PERFORM twtasks_internal.decide(state, state.verdict);
		RETURN;
	END IF;
	state.attempt := state.attempt + 1;
	state.first := NULL;
	state.due := state.until;
	PERFORM twtasks_internal.add_step(known, state, wanted);
END $$;

/*
 * twtasks_internal.noted(known, state, does, said, told)
 *
 *		Returns the row of an identifier with what an answer says.
 */
CREATE FUNCTION twtasks_internal.noted(
	known twtasks.kind, state twtasks.outcome, does text, said text, told jsonb)
RETURNS twtasks.outcome
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	state.due := NULL;
	state.repeats := CASE WHEN does = 'repeat' THEN state.repeats + 1 ELSE 0 END;
	IF does = 'repeat' THEN
		state.attempt := state.attempt + 1;
		state.due := twtasks.clock() + twtasks_internal.wait_of(known.delay, state.repeats);
	END IF;
	state.until := CASE WHEN said = 'blocked' THEN (told->>'until')::timestamptz
						WHEN state.step = 'undo' THEN state.until END;
	IF said = 'done' AND state.step = 'first' THEN
		state.first := coalesce(told, '{}');
	ELSIF said = 'none' THEN
		-- Our first step has expired, or never came to be: the next one is another.
		state.first := NULL;
		state.attempt := state.attempt + 1;
	ELSIF said IN ('given_up', 'cut_off') THEN
		-- Somebody wants no more actions, but what was done counts first.
		state.verdict := coalesce(state.verdict, told);
	END IF;
	-- Nobody can ask for an action that ended unknown, but its own answer may come.
	state.uncertain := does = 'uncertain' OR known.kind = 'idempotent' AND said <> 'decided' AND EXISTS (
		SELECT FROM twtasks.attempt a
		WHERE a.kind = state.kind AND a.identifier = state.identifier AND a.answer IN ('unknown', 'cut_off'));
	RETURN state;
END $$;

/*
 * twtasks_internal.go_on(state, said, fault, told)
 *
 *		Does what follows an answer of the step under way, as kind_rule says.
 *
 * Parameters
 *		state			the row of the identifier, which the caller has locked
 *		said			the answer
 *		fault			the fault; NULL: none
 *		told			the outcome that came with it; NULL: none
 *
 * Errors
 *		22023			a function has made no decision
 *		55000			as act(); all errors of the kind's functions
 *
 * Writes		as decide() or add_step()
 */
CREATE FUNCTION twtasks_internal.go_on(state twtasks.outcome, said text, fault text, told jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(state.kind);
	rule twtasks_internal.kind_rule;
BEGIN
	SELECT r.* INTO STRICT rule FROM twtasks_internal.kind_rule r
	WHERE r.kind = known.kind AND r.step = state.step AND r.answer = said;
	state := twtasks_internal.noted(known, state, rule.does, said, told);
	state.fault := coalesce(fault, state.fault);
	IF rule.does = 'again' THEN
		state := twtasks_internal.spend(known, state);
	END IF;
	CASE
	WHEN rule.does = 'act' OR rule.does = 'again' AND rule.next = 'attempt' THEN
		PERFORM twtasks_internal.act(known, state, rule.next);
	WHEN rule.does IN ('next', 'again', 'repeat') THEN
		PERFORM twtasks_internal.add_step(known, state, rule.next);
	WHEN rule.does IN ('decide', 'adopt') THEN
		PERFORM twtasks_internal.leave(known, state, rule.next, told);
	WHEN rule.does = 'expire' THEN
		PERFORM twtasks_internal.leave(known, state, rule.next, twtasks_internal.expiry_of(known, state));
	WHEN rule.does = 'uncertain' THEN
		PERFORM twtasks_internal.decide(state, twtasks_internal.call_function('on_uncertain', known.on_uncertain, 'jsonb',
			NULL, state.event, state.identifier, (SELECT a.started FROM twtasks.attempt a WHERE a.task = state.task))::jsonb);
	WHEN rule.does = 'settle' THEN
		PERFORM twtasks_internal.settle(known, state, rule.next);
	END CASE;
END $$;
COMMENT ON FUNCTION twtasks_internal.wait_of IS 'The back-off before attempt n + 1: the first one doubled with each attempt, at most an hour, and up to 10 % shorter, so that attempts which failed together are not repeated together. / CREATE FUNCTION twtasks_internal.wait_of(first interval, n integer)';
COMMENT ON FUNCTION twtasks_internal.expiry_of IS 'Returns the decision for an identifier that has expired or is no longer needed.';
COMMENT ON FUNCTION twtasks_internal.is_over IS 'Whether the action of an identifier has expired or is no longer needed.';
COMMENT ON FUNCTION twtasks_internal.leave IS 'Ends the attempts of an identifier with that decision, after an undo if that is the name of a step.';
COMMENT ON FUNCTION twtasks_internal.act IS 'Adds a step that acts, if the action is still needed and allowed.  If not, on_expiry or on_fault decides.';
COMMENT ON FUNCTION twtasks_internal.spend IS 'Counts an attempt that failed: returns the row with the new counts, the time of the next attempt, and whether it may act.';
COMMENT ON FUNCTION twtasks_internal.settle IS 'Goes on after an undo: decides as was decided before it, or takes the next step when the first step that was in the way has expired.';
COMMENT ON FUNCTION twtasks_internal.noted IS 'Returns the row of an identifier with what an answer says. / CREATE FUNCTION twtasks_internal.noted(';
COMMENT ON FUNCTION twtasks_internal.go_on IS 'Does what follows an answer of the step under way, as kind_rule says.';

-- extensions/kinds/start.sql
/*
 * twtasks.start(name, event)
 *
 *		Starts the action that an event asks for, in the caller's transaction.  The
 *		kind makes the identifier of the action from the event; each identifier is
 *		started once.
 *
 * Parameters
 *		name		of a kind, as configured by configure_kind()
 *		event		what the handlers get; at most twtasks.max_payload less 2 kB
 *
 * Returns
 *		started				the first step's task is added
 *		already_started		the identifier is under way
 *		already_decided		the identifier has its outcome: see twtasks.outcomes
 *
 * Errors
 *		22004		name or event is NULL
 *		22023		the event lacks a value that the identifier needs, or the identifier
 *					is not valid
 *		25006		read-only transaction, or a standby
 *		42501		the calling role may not add tasks of the kind's type
 *		42704		the kind is not configured
 *		54000		the event is too large
 *
 *		Errors of the kind's functions pass to the caller.
 *
 * Writes		twtasks.outcome, twtasks.attempt, twtasks.task
 * Locks		waits for a transaction that is starting the same identifier
 * Wakes		after commit one sidecar
 * Example		SELECT twtasks.start('refund', '{"payment": "p-17", "amount": 30}');
 */
CREATE FUNCTION twtasks.start(name text, event jsonb)
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.start_as_owner(given)
 *
 *		Does the work of start(), whose parameters are the columns of the row.
 *
 * Writes		as start_kind()
 */
CREATE FUNCTION twtasks_internal.start_as_owner(given record)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(given.name);
BEGIN
	PERFORM twtasks_internal.check_allowed(known.type);
	RETURN twtasks_internal.start_kind(known, given.event);
END $$;

/*
 * twtasks_internal.check_started_event(known, event)
 *
 *		Raises an error unless steps of the kind can carry the event.
 *
 * Errors
 *		22004, 54000		as start()
 */
CREATE FUNCTION twtasks_internal.check_started_event(known twtasks.kind, event jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A step adds the identifier, of which a character may take six bytes, and the
	-- outcome of a first step.
	room CONSTANT bigint := pg_size_bytes(current_setting('twtasks.max_payload')) - 2000
		- CASE known.kind WHEN 'optimistic' THEN 8192 ELSE 0 END;
BEGIN
	IF event IS NULL THEN
		RAISE EXCEPTION 'event must not be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Write ''null''::jsonb for an event without content.';
	END IF;
	IF octet_length(event::text) > room THEN
		RAISE EXCEPTION 'event of kind "%" is too large', known.name
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('With the setting twtasks.max_payload an event of this kind has at most %s bytes.', room);
	END IF;
END $$;

/*
 * twtasks_internal.start_kind(known, event)
 *
 *		Does the work of start() for a kind; asks for no rights.
 *
 * Returns
 *		as start()
 *
 * Writes		as start()
 */
CREATE FUNCTION twtasks_internal.start_kind(known twtasks.kind, event jsonb)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	wanted text;
	state twtasks.outcome;
	is_decided boolean;
BEGIN
	-- configure_kind() waits for this before it gives the name another machine.
	LOCK TABLE twtasks.kind IN ROW SHARE MODE;
	known := twtasks_internal.kind_named(known.name);
	PERFORM twtasks_internal.check_started_event(known, event);
	wanted := twtasks_internal.identifier_of(known, event);
	LOOP
		INSERT INTO twtasks.outcome AS o (started, expires, kind, identifier, step, attempt, event)
		VALUES (moment, moment + known.expires, known.name, wanted, 'start', 1, start_kind.event)
		ON CONFLICT ON CONSTRAINT outcome_pkey DO NOTHING
		RETURNING o.* INTO state;
		EXIT WHEN FOUND;
		SELECT o.decided IS NOT NULL INTO is_decided FROM twtasks.outcome o
		WHERE o.kind = known.name AND o.identifier = wanted;
		IF FOUND THEN
			RETURN CASE WHEN is_decided THEN 'already_decided' ELSE 'already_started' END;
		END IF;
	END LOOP;
	IF known.kind = 'to_do' THEN
		UPDATE twtasks.outcome o SET read_model = twtasks_internal.read_model_of(known, start_kind.event)
		WHERE o.kind = known.name AND o.identifier = wanted;
	END IF;
	PERFORM twtasks_internal.go_on(state, 'started', NULL, NULL);
	RETURN 'started';
END $$;
COMMENT ON FUNCTION twtasks.start IS 'Starts the action that an event asks for, in the caller''s transaction.  The kind makes the identifier of the action from the event; each identifier is started once.';
COMMENT ON FUNCTION twtasks_internal.start_as_owner IS 'Does the work of start(), whose parameters are the columns of the row.';
COMMENT ON FUNCTION twtasks_internal.check_started_event IS 'Raises an error unless steps of the kind can carry the event.';
COMMENT ON FUNCTION twtasks_internal.start_kind IS 'Does the work of start() for a kind; asks for no rights.';

-- extensions/kinds/end_steps.sql
/*
 * twtasks_internal.time_of(value)
 *
 *		Returns the time that a text names; NULL if it names none.
 */
CREATE FUNCTION twtasks_internal.time_of(value text)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN value::timestamptz;
EXCEPTION WHEN invalid_datetime_format OR datetime_field_overflow THEN
	RETURN NULL;
END $$;

/*
 * twtasks_internal.looked(told)
 *
 *		Returns the answer of a step "look".  A second step that was completed under a
 *		first step which has not expired belongs to somebody who is still at work.
 */
CREATE FUNCTION twtasks_internal.looked(told jsonb)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE told->>'look'
		WHEN 'own' THEN 'own'
		WHEN 'none' THEN 'none'
		WHEN 'completed' THEN CASE WHEN coalesce(twtasks_internal.time_of(told->>'until') > twtasks.clock(), false)
									THEN 'blocked' ELSE 'completed' END
		WHEN 'blocked' THEN CASE WHEN twtasks_internal.time_of(told->>'until') IS NULL THEN 'unknown' ELSE 'blocked' END
		ELSE 'unknown' END
$$;

/*
 * twtasks_internal.said_of(step, told)
 *
 *		Returns the answer of a step whose handler has come to its end.  A handler that
 *		contradicts itself, or whose decision is no text, says nothing that is known.
 */
CREATE FUNCTION twtasks_internal.said_of(step text, told jsonb)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN told ? 'fault' THEN CASE WHEN told ? 'decision' OR jsonb_typeof(told->'fault') NOT IN ('string', 'number') THEN 'unknown'
									  ELSE 'fault' END
		WHEN step IN ('first', 'undo') THEN 'done'
		-- answer_to_do() alone answers an item, by contract and decide.
		WHEN step = 'answer' THEN 'unknown'
		WHEN told ? 'decision' AND NOT twtasks_internal.is_decision(told) THEN 'unknown'
		WHEN step = 'find' THEN CASE WHEN told->'found' = 'false' THEN CASE WHEN told ? 'decision' THEN 'unknown' ELSE 'not_found' END
									 WHEN told ? 'decision' THEN 'decided' ELSE 'unknown' END
		WHEN step = 'look' THEN twtasks_internal.looked(told)
		ELSE 'decided' END
$$;

/*
 * twtasks_internal.answer_of(step, ended)
 *
 *		Reads the end of a step's task.
 *
 * Returns
 *		said			the answer, as kind_rule names it
 *		fault			the fault; NULL: none
 *		told			the outcome of the step; for a decision with the text "decision"
 */
CREATE FUNCTION twtasks_internal.answer_of(
	step text, ended twtasks.ended_task, OUT said text, OUT fault text, OUT told jsonb)
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	told := coalesce(ended.outcome, '{}');
	-- Many languages write null for what is not there.
	told := told - ARRAY(SELECT m FROM unnest('{fault,decision}'::text[]) m WHERE told->m = 'null');
	said := CASE
		-- A task that expires has never run; a person fails only what has.
		WHEN ended.status = 'FAILED' AND ended.tries = 0 THEN 'expired'
		WHEN ended.status = 'CANCELLED' AND ended.tries > 0 THEN 'cut_off'
		WHEN ended.status IN ('FAILED', 'CANCELLED') THEN 'given_up'
		WHEN ended.status = 'ERROR' AND NOT told ? 'fault' THEN 'unknown'
		ELSE twtasks_internal.said_of(step, told) END;
	-- An earlier run of this task may have acted.
	IF said IN ('expired', 'given_up') AND EXISTS (
		SELECT FROM twtasks.attempt a WHERE a.task = ended.id AND a.answer IN ('unknown', 'cut_off')) THEN
		said := CASE said WHEN 'expired' THEN 'unknown' ELSE 'cut_off' END;
	END IF;
	fault := CASE said WHEN 'fault' THEN told->>'fault'
					   WHEN 'unknown' THEN coalesce(ended.error, ended.message, format('step %s gave no answer that is known', step)) END;
	IF said IN ('given_up', 'cut_off') THEN
		told := jsonb_build_object('decision', lower(ended.status::text));
	ELSIF said IN ('decided', 'completed') AND NOT told ? 'decision' THEN
		told := told || '{"decision": "done"}';
	END IF;
END $$;

/*
 * twtasks_internal.follow(state, said, fault, told, until)
 *
 *		Does what follows an answer.  If that fails, or the time is over, keeps the
 *		answer for duty_follow_answers(): the end of a task must not fail, or a person
 *		would have to find out what its handler has done.
 *
 * Writes		as go_on()
 */
CREATE FUNCTION twtasks_internal.follow(
	state twtasks.outcome, said text, fault text, told jsonb, until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF clock_timestamp() > until THEN
		RAISE EXCEPTION 'functions for other identifiers took too long' USING ERRCODE = 'configuration_limit_exceeded';
	END IF;
	PERFORM twtasks_internal.go_on(state, said, fault, told);
EXCEPTION WHEN OTHERS OR query_canceled THEN
	state.answer := jsonb_build_object('said', said, 'fault', fault, 'told', told);
	state.problem := twtasks_internal.cut_message(SQLERRM);
	state.due := twtasks.clock() + interval '3 s';
	state.fault := coalesce(fault, state.fault);
	PERFORM twtasks_internal.keep_outcome(state);
END $$;

/*
 * twtasks_internal.note_anomaly(task, what, result, message, told)
 *
 *		Keeps a result that counts no more, if it is a step's.
 *
 * Writes		twtasks.anomaly
 */
CREATE FUNCTION twtasks_internal.note_anomaly(task uuid, what text, result text, message text, told jsonb)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO twtasks.anomaly (seen, task, number, kind, identifier, step, what, result, message, outcome)
	SELECT twtasks.clock(), a.task, a.number, a.kind, a.identifier, a.step,
		   note_anomaly.what, note_anomaly.result, twtasks_internal.cut_message(note_anomaly.message), told
	FROM twtasks.attempt a WHERE a.task = note_anomaly.task
$$;

/*
 * twtasks_internal.end_step(ended, until)
 *
 *		Moves the identifier of an ended step on, until that time.  The caller has
 *		locked its row.
 *
 * Writes		twtasks.attempt, twtasks.anomaly, and as go_on()
 */
CREATE FUNCTION twtasks_internal.end_step(ended twtasks.ended_task, until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state twtasks.outcome;
	end_of record;
BEGIN
	SELECT o.* INTO state FROM twtasks.outcome o WHERE o.task = ended.id AND o.decided IS NULL;
	IF NOT FOUND THEN
		PERFORM twtasks_internal.note_anomaly(ended.id, 'a step ended again', ended.status::text, ended.message, ended.outcome)
		WHERE ended.status IN ('DONE', 'ERROR');
		RETURN;
	END IF;
	SELECT * INTO end_of FROM twtasks_internal.answer_of(state.step, ended);
	UPDATE twtasks.attempt a SET ended = end_step.ended.state_time, answer = end_of.said, fault = end_of.fault
	WHERE a.task = ended.id;
	PERFORM twtasks_internal.follow(state, end_of.said, end_of.fault, end_of.told, until);
END $$;

/*
 * twtasks_internal.end_steps(ended)
 *
 *		Moves identifiers on when their steps have ended, in the transaction that ends
 *		the tasks.  on_end of the types of all kinds.
 *
 * Errors
 *		40001			the time is over, which a lock on a table of kinds can cause
 *
 * Writes		as end_step()
 * Locks		rows of identifiers, in their order
 * Wakes		after commit one sidecar
 */
CREATE FUNCTION twtasks_internal.end_steps(ended twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
	-- A function that is cut off at the time limit is the last one to run.
	until CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval / 2;
	task twtasks.ended_task;
BEGIN
	PERFORM FROM unnest(ended) e JOIN twtasks.outcome o ON o.task = e.id
	ORDER BY o.kind, o.identifier FOR UPDATE OF o;
	FOREACH task IN ARRAY ended LOOP
		PERFORM twtasks_internal.end_step(task, until);
	END LOOP;
EXCEPTION WHEN query_canceled OR lock_not_available THEN
	-- With any other error the tasks would be in ERROR, and their outcomes lost.
	RAISE EXCEPTION 'identifiers are locked, or the time is over' USING ERRCODE = 'serialization_failure',
		DETAIL = SQLERRM, HINT = 'The results can be reported again.';
END $$;

/*
 * twtasks_internal.late_results_of_steps(late)
 *
 *		Keeps results that came after the end of their attempt was given up.  The core
 *		calls it with results that it has refused.
 *
 * Writes		twtasks.anomaly
 */
CREATE FUNCTION twtasks_internal.late_results_of_steps(late twtasks.late_result[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A result that was stored comes again when its sidecar did not hear so.
	PERFORM twtasks_internal.note_anomaly(l.id, 'the result came too late', l.result, l.message, l.outcome)
	FROM unnest(late) l JOIN twtasks.attempt a ON a.task = l.id
	WHERE a.answer IS NULL OR a.answer IN ('unknown', 'given_up', 'cut_off');
END $$;

/*
 * twtasks_internal.follow_again(state)
 *
 *		Does again what failed for an identifier.  The caller has locked its row.
 *
 * Writes		twtasks.outcome, and as go_on()
 */
CREATE FUNCTION twtasks_internal.follow_again(state twtasks.outcome)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
BEGIN
	IF state.decided IS NOT NULL THEN
		PERFORM twtasks_internal.start_reactions(state);
		RETURN;
	END IF;
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = state.task FOR UPDATE SKIP LOCKED;
	IF FOUND AND task.status <> 'ERROR' THEN
		-- A person has resumed the step, so its next end counts.
		state.answer := NULL;
		state.problem := NULL;
		PERFORM twtasks_internal.keep_outcome(state);
	ELSIF FOUND OR NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = state.task) THEN
		PERFORM twtasks_internal.follow(state, state.answer->>'said', state.answer->>'fault', state.answer->'told', 'infinity');
	END IF;
END $$;

/*
 * twtasks_internal.duty_follow_answers()
 *
 *		The duty of this extension: does again what failed, mostly a function of a
 *		kind or a reaction.  See run_duties().
 *
 * Returns
 *		milliseconds until the next call
 *
 * Writes		as follow_again()
 */
CREATE FUNCTION twtasks_internal.duty_follow_answers()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + interval '200 ms';
	has_solved boolean := false;
	state twtasks.outcome;
BEGIN
	-- A problem that stays goes behind the others.
	FOR state IN
		SELECT o.* FROM twtasks.outcome o WHERE o.problem IS NOT NULL AND o.due <= twtasks.clock()
		ORDER BY o.due LIMIT 1000 FOR UPDATE SKIP LOCKED
	LOOP
		PERFORM twtasks_internal.follow_again(state);
		has_solved := has_solved OR EXISTS (
			SELECT FROM twtasks.outcome o
			WHERE o.kind = state.kind AND o.identifier = state.identifier AND o.problem IS NULL);
		EXIT WHEN clock_timestamp() > until;
	END LOOP;
	RETURN CASE WHEN has_solved THEN 0 ELSE 3000 END;
END $$;
COMMENT ON FUNCTION twtasks_internal.time_of IS 'Returns the time that a text names; NULL if it names none. / CREATE FUNCTION twtasks_internal.time_of(value text)';
COMMENT ON FUNCTION twtasks_internal.looked IS 'Returns the answer of a step "look".  A second step that was completed under a first step which has not expired belongs to somebody who is still at work. / CREATE FUNCTION twtasks_internal.looked(told jsonb)';
COMMENT ON FUNCTION twtasks_internal.said_of IS 'Returns the answer of a step whose handler has come to its end.  A handler that contradicts itself, or whose decision is no text, says nothing that is known. / CREATE FUNCTION twtasks_internal.said_of(step text, told jsonb)';
COMMENT ON FUNCTION twtasks_internal.answer_of IS 'Reads the end of a step''s task.';
COMMENT ON FUNCTION twtasks_internal.follow IS 'Does what follows an answer.  If that fails, or the time is over, keeps the answer for duty_follow_answers(): the end of a task must not fail, or a person would have to find out what its handler has done.';
COMMENT ON FUNCTION twtasks_internal.note_anomaly IS 'Keeps a result that counts no more, if it is a step''s.';
COMMENT ON FUNCTION twtasks_internal.end_step IS 'Moves the identifier of an ended step on, until that time.  The caller has locked its row.';
COMMENT ON FUNCTION twtasks_internal.end_steps IS 'Moves identifiers on when their steps have ended, in the transaction that ends the tasks.  on_end of the types of all kinds.';
COMMENT ON FUNCTION twtasks_internal.late_results_of_steps IS 'Keeps results that came after the end of their attempt was given up.  The core calls it with results that it has refused.';
COMMENT ON FUNCTION twtasks_internal.follow_again IS 'Does again what failed for an identifier.  The caller has locked its row.';
COMMENT ON FUNCTION twtasks_internal.duty_follow_answers IS 'The duty of this extension: does again what failed, mostly a function of a kind or a reaction.  See run_duties().';

-- extensions/kinds/to_do.sql
/*
 * twtasks_internal.check_may_see(known, roles, what)
 *
 *		Raises an error unless the caller is a member of one of the roles.
 *
 * Errors
 *		22023			the kind is not to_do
 *		42501			the caller is a member of none
 */
CREATE FUNCTION twtasks_internal.check_may_see(known twtasks.kind, roles text[], what text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF known.kind <> 'to_do' THEN
		RAISE EXCEPTION 'kind "%" has no to-do items', known.name
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('It is %s.', known.kind);
	END IF;
	IF NOT EXISTS (SELECT FROM unnest(roles || 'twtasks_owner'::text) r
				   WHERE to_regrole(quote_ident(r)) IS NOT NULL
					 AND pg_has_role(twtasks_internal.caller(), r::name, 'USAGE')) THEN
		RAISE EXCEPTION 'permission denied to % to-do items of kind "%"', what, known.name
			USING ERRCODE = 'insufficient_privilege', HINT = 'configure_kind() names the roles that may.';
	END IF;
END $$;

/*
 * twtasks_internal.read_model_of(known, event)
 *
 *		Returns what people read about an item.
 *
 * Errors
 *		all errors of read_model
 */
CREATE FUNCTION twtasks_internal.read_model_of(known twtasks.kind, event jsonb)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN known.read_model IS NULL THEN event
				ELSE twtasks_internal.call_function('read_model', known.read_model, 'jsonb', NULL, event)::jsonb END
$$;

/*
 * twtasks.read_to_do(name, item)
 *
 *		Returns open to-do items, the oldest first.
 *
 * Parameters
 *		name			of the kind
 *		item			identifier of one item; NULL: all
 *
 * Returns
 *		identifier		of the item
 *		read_model		what the kind shows of it
 *		started			time of start()
 *		expires			time from which it is not needed any more; NULL: none
 *
 * Errors
 *		22004			name is NULL
 *		22023			the kind is not to_do
 *		42501			the caller is a member of none of the kind's readers
 *		42704			the kind is not configured
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.read_to_do('approval');
 */
CREATE FUNCTION twtasks.read_to_do(
	name text,
	item text DEFAULT NULL,
	OUT identifier text,
	OUT read_model jsonb,
	OUT started timestamptz,
	OUT expires timestamptz)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.read_to_do_as_owner(given)
 *
 *		Does the work of read_to_do(), whose parameters are the columns of the row.
 */
CREATE FUNCTION twtasks_internal.read_to_do_as_owner(
	given record, OUT identifier text, OUT read_model jsonb, OUT started timestamptz, OUT expires timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(given.name);
BEGIN
	PERFORM twtasks_internal.check_may_see(known, known.readers, 'read');
	RETURN QUERY
	SELECT o.identifier::text, o.read_model, o.started, o.expires FROM twtasks.outcome o
	WHERE o.kind = known.name AND o.decided IS NULL
	  AND (given.item IS NULL OR o.identifier = given.item)
	ORDER BY o.started, o.identifier;
END $$;

/*
 * twtasks.answer_to_do(name, identifier, data)
 *
 *		Answers a to-do item.  The kind's decide function makes the outcome of the read
 *		model and the data, and sees nothing else.  An item has one outcome, ever.
 *
 * Parameters
 *		name			of the kind
 *		identifier		of the item; NULL: the kind makes it from data, as from an event
 *		data			the answer
 *
 * Returns
 *		result			decided; already_decided, by an earlier answer or otherwise;
 *						expired: the item was not needed any more
 *		outcome			the outcome of the item
 *
 * Errors
 *		22004			name or data is NULL
 *		22023			the kind is not to_do, data does not fulfil the contract, or decide
 *						makes no decision of it; the item stays open
 *		42501			the caller is a member of none of the kind's answerers
 *		42704			the kind is not configured, or there is no such item
 *
 *		Errors of the kind's functions pass to the caller.
 *
 * Writes		twtasks.outcome, twtasks.task, twtasks.finished_task, and as start()
 * Locks		rows of the item and its task
 * Example		SELECT * FROM twtasks.answer_to_do('approval', 'refund-17', '{"approved": true}');
 */
CREATE FUNCTION twtasks.answer_to_do(
	name text, identifier text, data jsonb, OUT result text, OUT outcome jsonb)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.decide_alone(known, read_model, data)
 *
 *		Returns the decision of decide, which runs as a role without rights and cannot
 *		write.
 *
 * Errors
 *		22023			data does not fulfil the contract, or there is no decision; all
 *						errors of the functions
 */
CREATE FUNCTION twtasks_internal.decide_alone(known twtasks.kind, read_model jsonb, data jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	verdict jsonb;
BEGIN
	IF known.contract IS NOT NULL AND NOT coalesce(
		twtasks_internal.call_function('contract', known.contract, 'boolean', NULL, data)::boolean, false) THEN
		RAISE EXCEPTION 'data does not fulfil the contract of kind "%"', known.name USING ERRCODE = 'invalid_parameter_value';
	END IF;
	verdict := twtasks_internal.call_function('decide', known.decide, 'jsonb', 'twtasks_nobody', read_model, data)::jsonb;
	IF verdict IS NULL THEN
		RAISE EXCEPTION 'function "%" makes no decision of the data', known.decide USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN verdict;
END $$;

/*
 * twtasks_internal.lock_item(name, identifier)
 *
 *		Returns the row of an item, locked.  The task's row is locked first, as by those
 *		who end the task.
 *
 * Errors
 *		42704			there is no such item
 *
 * Locks		rows of the item and its task
 */
CREATE FUNCTION twtasks_internal.lock_item(name text, identifier text)
RETURNS twtasks.outcome
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state twtasks.outcome;
BEGIN
	PERFORM FROM twtasks.task t
	WHERE t.id = (SELECT o.task FROM twtasks.outcome o
				  WHERE o.kind = name AND o.identifier = lock_item.identifier) FOR UPDATE;
	SELECT o.* INTO state FROM twtasks.outcome o
	WHERE o.kind = name AND o.identifier = lock_item.identifier FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'kind "%" has no identifier "%"', name, twtasks_internal.shown(identifier) USING ERRCODE = 'undefined_object';
	END IF;
	RETURN state;
END $$;

/*
 * twtasks_internal.end_item(state, status, reason, verdict, by)
 *
 *		Decides for an identifier, and ends its live step.
 *
 * Writes		twtasks.attempt, twtasks.task, twtasks.finished_task, and as decide()
 */
CREATE FUNCTION twtasks_internal.end_item(
	state twtasks.outcome, status twtasks.task_status, reason text, verdict jsonb, by text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.end_now(ARRAY[t.id], ARRAY[end_item.status], ARRAY[reason])
	FROM twtasks.task t WHERE t.id = state.task;
	UPDATE twtasks.attempt a
	SET ended = twtasks.clock(), answer = CASE end_item.status WHEN 'DONE' THEN 'decided' WHEN 'FAILED' THEN 'expired' ELSE 'given_up' END
	WHERE a.task = state.task AND a.ended IS NULL;
	state.uncertain := false;
	PERFORM twtasks_internal.decide(state, verdict, by);
END $$;

/*
 * twtasks_internal.answer_to_do_as_owner(given)
 *
 *		Does the work of answer_to_do(), whose parameters are the columns of the row.
 *
 * Writes		as answer_to_do()
 */
CREATE FUNCTION twtasks_internal.answer_to_do_as_owner(given record, OUT result text, OUT outcome jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(given.name);
	person CONSTANT text := (SELECT r.rolname FROM pg_roles r WHERE r.oid = twtasks_internal.caller());
	state twtasks.outcome;
	is_over boolean;
	verdict jsonb;
BEGIN
	PERFORM twtasks_internal.check_may_see(known, known.answerers, 'answer');
	IF given.data IS NULL THEN
		RAISE EXCEPTION 'data must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	state := twtasks_internal.lock_item(known.name, coalesce(given.identifier, twtasks_internal.identifier_of(known, given.data)));
	IF state.decided IS NOT NULL THEN
		result := 'already_decided';
		outcome := state.outcome;
		RETURN;
	END IF;
	is_over := twtasks_internal.is_over(known, state);
	verdict := CASE WHEN is_over THEN twtasks_internal.expiry_of(known, state)
					ELSE twtasks_internal.decide_alone(known, state.read_model, given.data) END;
	PERFORM twtasks_internal.end_item(state, CASE WHEN is_over THEN 'FAILED' ELSE 'DONE' END::twtasks.task_status,
									  CASE WHEN is_over THEN 'it was not needed any more' END,
									  verdict, CASE WHEN NOT is_over THEN person END);
	result := CASE WHEN is_over THEN 'expired' ELSE 'decided' END;
	outcome := verdict;
END $$;
COMMENT ON FUNCTION twtasks_internal.check_may_see IS 'Raises an error unless the caller is a member of one of the roles.';
COMMENT ON FUNCTION twtasks_internal.read_model_of IS 'Returns what people read about an item.';
COMMENT ON FUNCTION twtasks.read_to_do IS 'Returns open to-do items, the oldest first.';
COMMENT ON FUNCTION twtasks_internal.read_to_do_as_owner IS 'Does the work of read_to_do(), whose parameters are the columns of the row. / CREATE FUNCTION twtasks_internal.read_to_do_as_owner(';
COMMENT ON FUNCTION twtasks.answer_to_do IS 'Answers a to-do item.  The kind''s decide function makes the outcome of the read model and the data, and sees nothing else.  An item has one outcome, ever.';
COMMENT ON FUNCTION twtasks_internal.decide_alone IS 'Returns the decision of decide, which runs as a role without rights and cannot write.';
COMMENT ON FUNCTION twtasks_internal.lock_item IS 'Returns the row of an item, locked.  The task''s row is locked first, as by those who end the task.';
COMMENT ON FUNCTION twtasks_internal.end_item IS 'Decides for an identifier, and ends its live step.';
COMMENT ON FUNCTION twtasks_internal.answer_to_do_as_owner IS 'Does the work of answer_to_do(), whose parameters are the columns of the row.';

-- extensions/kinds/by_hand.sql
/*
 * twtasks.decide_by_hand(name, identifier, decision, reason)
 *
 *		Gives an undecided identifier its outcome, because a person knows it.  The step
 *		under way ends; a result that its handler still reports becomes an anomaly.
 *		Look at the third party first.
 *
 * Parameters
 *		name, identifier	the kind and the identifier
 *		decision			an object with the text "decision"
 *		reason				why, for the history of the step's task
 *
 * Returns
 *		false: it was decided already, and nothing is changed
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			decision is no such object
 *		42704			the kind is not configured, or has no such identifier
 *
 * Writes		twtasks.outcome, twtasks.task, twtasks.finished_task, and as start()
 * Locks		rows of the identifier and its task
 * Example		SELECT twtasks.decide_by_hand('payment', 'payment-17', '{"decision": "paid"}', 'Ann of the bank says so');
 */
CREATE FUNCTION twtasks.decide_by_hand(name text, identifier text, decision jsonb, reason text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(name);
	state twtasks.outcome;
BEGIN
	IF identifier IS NULL OR decision IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'identifier, decision and reason must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	state := twtasks_internal.lock_item(known.name, identifier);
	IF state.decided IS NOT NULL THEN
		RETURN false;
	END IF;
	PERFORM twtasks_internal.end_item(state, 'CANCELLED', reason, decision, twtasks_internal.actor());
	RETURN true;
END $$;

/*
 * twtasks.close_anomalies(name, identifier, reason)
 *
 *		Closes the open anomalies of an identifier, after a person has compared them
 *		with its outcome.
 *
 * Parameters
 *		name, identifier	the kind and the identifier
 *		reason				what was found
 *
 * Returns
 *		number of anomalies
 *
 * Errors
 *		22004			a parameter is NULL
 *		42704			the kind is not configured
 *
 * Writes		twtasks.anomaly
 * Example		SELECT twtasks.close_anomalies('fax', 'fax-17', 'the client has it');
 */
CREATE FUNCTION twtasks.close_anomalies(name text, identifier text, reason text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(name);
	n bigint;
BEGIN
	IF identifier IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'identifier and reason must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	UPDATE twtasks.anomaly a
	SET closed = twtasks.clock(), closed_by = twtasks_internal.actor(), reason = close_anomalies.reason
	WHERE a.kind = known.name AND a.identifier = close_anomalies.identifier AND a.closed IS NULL;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

/*
 * twtasks.forget_outcomes(name, older_than)
 *
 *		Removes decided identifiers whose decision is older, with their attempts and
 *		anomalies.  A forgotten identifier can be started again, and its action would
 *		happen again.  An identifier stays while the history has one of its tasks.
 *
 * Returns
 *		number of identifiers
 *
 * Errors
 *		22004			a parameter is NULL
 *		42704			the kind is not configured
 *
 * Writes		twtasks.outcome, twtasks.attempt, twtasks.anomaly
 * Example		SELECT twtasks.forget_outcomes('payment', '2 years');
 */
CREATE FUNCTION twtasks.forget_outcomes(name text, older_than interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(name);
	forgotten bigint;
BEGIN
	IF older_than IS NULL THEN
		RAISE EXCEPTION 'older_than must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	WITH old AS (
		DELETE FROM twtasks.outcome o
		WHERE o.kind = known.name AND o.decided < twtasks.clock() - older_than
		  AND NOT EXISTS (SELECT FROM twtasks.attempt a JOIN twtasks.finished_task f ON f.id = a.task
						  WHERE a.kind = o.kind AND a.identifier = o.identifier)
		RETURNING o.kind, o.identifier),
	attempts AS (
		DELETE FROM twtasks.attempt a USING old WHERE a.kind = old.kind AND a.identifier = old.identifier),
	anomalies AS (
		DELETE FROM twtasks.anomaly a USING old WHERE a.kind = old.kind AND a.identifier = old.identifier)
	SELECT count(*) INTO forgotten FROM old;
	RETURN forgotten;
END $$;
COMMENT ON FUNCTION twtasks.decide_by_hand IS 'Gives an undecided identifier its outcome, because a person knows it.  The step under way ends; a result that its handler still reports becomes an anomaly. Look at the third party first.';
COMMENT ON FUNCTION twtasks.close_anomalies IS 'Closes the open anomalies of an identifier, after a person has compared them with its outcome.';
COMMENT ON FUNCTION twtasks.forget_outcomes IS 'Removes decided identifiers whose decision is older, with their attempts and anomalies.  A forgotten identifier can be started again, and its action would happen again.  An identifier stays while the history has one of its tasks.';

-- extensions/kinds/views.sql
CREATE VIEW twtasks.kinds AS
	SELECT k.name, k.kind, k.type, k.identifier, k.expires, k.still_needed, k.on_expiry, k.attempts, k.delay,
		   k.retry_function, k.on_fault, k.on_uncertain, k.read_model, k.contract, k.decide, k.readers, k.answerers,
		   k.changed_at, k.changed_by
	FROM twtasks.kind k;
COMMENT ON VIEW twtasks.kinds IS 'Kinds of task; see configure_kind()';

CREATE VIEW twtasks.reactions AS
	SELECT r.kind, r.decision, r.then_kind, r.event_function, r.changed_at, r.changed_by
	FROM twtasks.reaction r;
COMMENT ON VIEW twtasks.reactions IS 'Kinds that outcomes start; see on_outcome()';

CREATE VIEW twtasks.outcomes AS
	SELECT o.kind, o.identifier, o.step, o.attempt, o.task, t.status, o.due, o.started, o.expires,
		   o.decided, o.decision, o.decided_by, o.uncertain, o.fault, o.problem, t.error
	FROM twtasks.outcome o
	LEFT JOIN twtasks.task t ON t.id = o.task AND o.decided IS NULL;
COMMENT ON VIEW twtasks.outcomes IS 'Identifiers: the step under way with its task, or the decision';

CREATE VIEW twtasks.attempts AS
	SELECT a.kind, a.identifier, a.number, a.step, a.task, a.started, a.expires, a.ended, a.answer, a.fault
	FROM twtasks.attempt a;
COMMENT ON VIEW twtasks.attempts IS 'Steps of identifiers, and how they ended';

CREATE VIEW twtasks.anomalies AS
	SELECT a.seen, a.kind, a.identifier, a.number, a.step, a.task, a.what, a.result,
		   a.outcome->>'decision' AS decision, a.closed, a.closed_by, a.reason
	FROM twtasks.anomaly a;
COMMENT ON VIEW twtasks.anomalies IS 'Results that came after they were given up; a person should compare them with the outcome';

CREATE VIEW twtasks.broken_outcomes AS
	SELECT o.kind, o.identifier, 'it is undecided, but no step is live and no answer waits' AS broken
	FROM twtasks.outcome o
	WHERE o.decided IS NULL AND o.answer IS NULL AND NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = o.task)
	UNION ALL
	SELECT o.kind, o.identifier, 'it is decided, but a step is live'
	FROM twtasks.outcome o
	JOIN twtasks.attempt a ON a.kind = o.kind AND a.identifier = o.identifier
	JOIN twtasks.task t ON t.id = a.task
	WHERE o.decided IS NOT NULL
	UNION ALL
	SELECT o.kind, o.identifier, 'its kind is not configured'
	FROM twtasks.outcome o
	WHERE o.decided IS NULL AND NOT EXISTS (SELECT FROM twtasks.kind k WHERE k.name = o.kind);
COMMENT ON VIEW twtasks.broken_outcomes IS 'Identifiers that break an invariant; empty, unless tables were changed by hand';

-- extensions/kinds/grants.sql
/* As with twtasks itself: twtasks_owner owns all, and PUBLIC has no rights. */
DO $$
DECLARE
	member record;
BEGIN
	FOR member IN
		SELECT i.type AS kind, i.identity
		FROM pg_catalog.pg_depend d
		JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
		CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classid, d.objid, 0) i
		WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
		  AND e.extname OPERATOR(pg_catalog.=) 'twtasks_kinds'
		  AND d.deptype OPERATOR(pg_catalog.=) 'e'
		  AND i.type OPERATOR(pg_catalog.=) ANY (ARRAY['table', 'view', 'function'])
	LOOP
		EXECUTE pg_catalog.format('ALTER %s %s OWNER TO twtasks_owner', member.kind, member.identity);
		IF member.kind OPERATOR(pg_catalog.=) 'function' THEN
			EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', member.identity);
		END IF;
	END LOOP;
END $$;


GRANT EXECUTE ON FUNCTION twtasks.start TO twtasks_producer;
GRANT EXECUTE ON FUNCTION twtasks.configure_kind, twtasks.on_outcome, twtasks.decide_by_hand, twtasks.close_anomalies,
	twtasks.forget_outcomes
	TO twtasks_operator;
/* Each kind names the roles that may. */
GRANT EXECUTE ON FUNCTION twtasks.read_to_do, twtasks.answer_to_do TO PUBLIC;
GRANT SELECT ON twtasks.kinds, twtasks.reactions, twtasks.outcomes, twtasks.attempts, twtasks.anomalies, twtasks.broken_outcomes
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
