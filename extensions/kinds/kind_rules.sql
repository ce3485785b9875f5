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
