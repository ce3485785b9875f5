/*
 * The life of a task as rows.  change_task() takes its rules from here, a
 * test prints them, and the picture in the docs is drawn from them.  So a
 * changed rule shows in all three.
 *
 * DONE, FAILED and CANCELLED move the task to the history, except that
 * "delete" leaves no row.  Every action but "accept" adds 1 to the version.
 */
CREATE TABLE twtasks.transition (
	action			text NOT NULL,					-- Name of the change
	from_status		twtasks.task_status,			-- Status before; NULL: no task yet
	to_status		twtasks.task_status NOT NULL,	-- Status after
	actor			text NOT NULL,					-- producer, worker, leader, operator or policy
	guard			text NOT NULL,					-- Condition besides status and version
	timer			text NOT NULL,					-- Meaning of next_event_time afterwards
	CONSTRAINT transition_key UNIQUE NULLS NOT DISTINCT (action, from_status, to_status)
);
COMMENT ON TABLE twtasks.transition IS 'The state machine: every way a task changes its status';

INSERT INTO twtasks.transition (action, from_status, to_status, actor, guard, timer) VALUES
	('add',			NULL,			'SUBMITTED',	'producer',	'run_after is null or past',			'counts as late in the queue'),
	('add',			NULL,			'WAITING',		'producer',	'run_after is in the future',			'runs'),
	('promote',		'WAITING',		'SUBMITTED',	'leader',	'its time has come',					'counts as late in the queue'),
	('grab',		'SUBMITTED',	'PROCESSING',	'worker',	'not expired, twtasks.enabled',			'unchanged'),
	('done',		'PROCESSING',	'DONE',			'worker',	'-',									'-'),
	('delete',		'PROCESSING',	'DONE',			'worker',	'nothing is kept',						'-'),
	('retry',		'PROCESSING',	'WAITING',		'worker',	'tries are left',						'runs'),
	('repeat',		'PROCESSING',	'WAITING',		'worker',	'tries start anew',						'runs'),
	('error',		'PROCESSING',	'ERROR',		'worker',	'tries are used up or handler gave up',	'never'),
	('accept',		'PROCESSING',	'PROCESSING',	'worker',	'version stays: the one to finish with','deadline'),
	('release',		'PROCESSING',	'SUBMITTED',	'worker',	'its handler never started',			'counts as late in the queue'),
	('release',		'PROCESSING',	'WAITING',		'worker',	'its handler cannot be started',		'runs'),
	('cancel',		'PROCESSING',	'CANCELLED',	'worker',	'request_cancel() asked for it',		'-'),
	('expire',		'WAITING',		'FAILED',		'leader',	'expires is past',						'-'),
	('expire',		'SUBMITTED',	'FAILED',		'leader',	'expires is past',						'-'),
	('stuck',		'PROCESSING',	'SUBMITTED',	'leader',	'worker gone or deadline past, rule retry',	'counts as late in the queue'),
	('stuck',		'PROCESSING',	'ERROR',		'leader',	'worker gone or deadline past, rule error',	'never'),
	('stuck',		'PROCESSING',	'FAILED',		'leader',	'worker gone or deadline past, rule fail',	'-'),
	('resume',		'WAITING',		'SUBMITTED',	'operator',	'-',									'counts as late in the queue'),
	('resume',		'ERROR',		'WAITING',		'operator',	'tries start anew',						'runs'),
	('reschedule',	'WAITING',		'WAITING',		'operator',	'-',									'runs'),
	('prioritize',	'WAITING',		'WAITING',		'operator',	'-',									'unchanged'),
	('prioritize',	'SUBMITTED',	'SUBMITTED',	'operator',	'-',									'unchanged'),
	('prioritize',	'ERROR',		'ERROR',		'operator',	'-',									'unchanged'),
	('prioritize',	'HELD',		'HELD',		'operator',	'-',									'unchanged'),
	('cancel',		'WAITING',		'CANCELLED',	'operator',	'-',									'-'),
	('cancel',		'SUBMITTED',	'CANCELLED',	'operator',	'-',									'-'),
	('cancel',		'HELD',			'CANCELLED',	'operator',	'-',									'-'),
	('fail',		'ERROR',		'FAILED',		'operator',	'-',									'-'),
	('confirm',		'ERROR',		'DONE',			'operator',	'its outcome is unknown',				'-'),
	('confirm',		'HELD',			'DONE',			'operator',	'its outcome is unknown',				'-'),
	('hold',		'WAITING',		'HELD',			'operator',	'-',									'never'),
	('hold',		'SUBMITTED',	'HELD',			'operator',	'-',									'never'),
	('hold',		'ERROR',		'HELD',			'operator',	'-',									'never'),
	('release',		'HELD',			'WAITING',		'operator',	'tries start anew',						'runs'),
	('release',		'HELD',			'ERROR',		'operator',	'held in ERROR, and no run_after given',	'never'),
	('reopen',		'FAILED',		'WAITING',		'operator',	'tries start anew',						'runs'),
	('reopen',		'CANCELLED',	'WAITING',		'operator',	'tries start anew',						'runs'),
	('on_end',		'WAITING',		'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'SUBMITTED',	'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'PROCESSING',	'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'ERROR',		'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'HELD',			'ERROR',		'policy',	'it was to end',						'never');
