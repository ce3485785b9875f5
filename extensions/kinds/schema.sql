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
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change, or the person for whom twtasks-web did
	CONSTRAINT kind_pkey PRIMARY KEY (name),
	CONSTRAINT kind_type_key UNIQUE (type)
);
COMMENT ON TABLE twtasks.kind IS 'Kinds of task, as configure_kind() set them';

/* A right follows its role to another name, and ends with it. */
CREATE TABLE twtasks.item_role (
	kind			text COLLATE "C" NOT NULL,	-- Name of the kind
	may				text NOT NULL,				-- The right: read or answer
	role			regrole NOT NULL,			-- The role
	CONSTRAINT item_role_pkey PRIMARY KEY (kind, may, role)
);
COMMENT ON TABLE twtasks.item_role IS 'Roles that may read and answer to-do items, as configure_kind() set them';

CREATE TABLE twtasks.reaction (
	kind			text COLLATE "C" NOT NULL,	-- Name of the kind whose outcomes start another
	decision		text COLLATE "C" NOT NULL,	-- ... with that decision; *: any
	then_kind		text COLLATE "C" NOT NULL,	-- Name of the kind that is started
	event_function	text,						-- Function that makes its event; NULL: the outcome is the event
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change, or the person for whom twtasks-web did
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
	chain			integer NOT NULL DEFAULT 0,	-- Reactions in a row that led to it; 0: somebody called start()
	CONSTRAINT outcome_pkey PRIMARY KEY (identifier, kind)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX outcome_task ON twtasks.outcome (task) WHERE task IS NOT NULL;
CREATE INDEX outcome_problem ON twtasks.outcome (due) WHERE problem IS NOT NULL;
CREATE INDEX outcome_undecided ON twtasks.outcome (kind, started) WHERE decided IS NULL;
COMMENT ON TABLE twtasks.outcome IS 'Identifiers that were started, one row each: how far they are, and their outcome';

CREATE TABLE twtasks.attempt (
	started			timestamptz NOT NULL,		-- Time at which the step was started; before its end, from which it may run
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
	closed_by		text,						-- Role that logged in and closed it, or the person for whom twtasks-web did
	reason			text						-- ... and why
);
-- The same result may come twice, so no columns are a key.
ALTER TABLE twtasks.anomaly REPLICA IDENTITY FULL;
CREATE INDEX anomaly_identifier ON twtasks.anomaly (kind, identifier);
COMMENT ON TABLE twtasks.anomaly IS 'Results that came after they were given up; a person should compare them with the outcome';

SELECT pg_catalog.pg_extension_config_dump('twtasks.kind', '');
-- The number of a role that is gone may be another role's elsewhere.
SELECT pg_catalog.pg_extension_config_dump('twtasks.item_role',
	'WHERE EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) role)');
SELECT pg_catalog.pg_extension_config_dump('twtasks.reaction', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.outcome', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.attempt', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.anomaly', '');
