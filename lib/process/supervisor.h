/*-------------------------------------------------------------------------
 *
 * supervisor.h
 *		A process of twtasks-run, from its start until it is reaped.
 *
 *		from: spawn.c		to: child.h, workers/run
 *
 * It tells by run_report.h what becomes of the program that it supervises.  We
 * tell it by signals what to do.  A signal never waits: each one is followed by
 * CONT, which wakes a supervisor that somebody has stopped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SUPERVISOR_H
#define TWT_SUPERVISOR_H

#include <signal.h>

#include "common/run_report.h"
#include "process/child.h"

/* Neither an exit nor a signal: the supervisor could not tell how the program ended. */
#define SUPERVISOR_STATUS_LOST (-1)

typedef struct Supervisor
{
	const char *command;		/* for the log */
	pid_t		pid;
	int			pidfd;			/* -1: not started, or closed */
	int			report_fd;
	pid_t		program;		/* process id; 0: not known yet */
	int			status;			/* wait status of the program, at the end, or
								 * SUPERVISOR_STATUS_LOST */
	RunReport	failure;		/* why the program never ran; RUN_NO_NEWS: it
								 * may have */
	bool		has_left;		/* processes that it does not wait for */
	bool		has_ended;		/* it has reported the end of the program */
} Supervisor;

/*
 * Whether the kernel lets a process wait for a child by a descriptor, as Linux does
 * since 5.4.  Without that no child may be started: its end would not be seen.
 */
extern bool supervisor_is_possible(void) MUSTCHECK;

/* The name of the command stays the caller's. */
extern void supervisor_init(Supervisor *supervisor, const char *command);

/*
 * Starts a supervisor for the program in the plan, whose report_fd is not looked
 * at, in the directory.  Waits for the start of the program, at most for wait_ms.  Sets
 * supervisor->failure if the program did not start, as far as that is known then;
 * supervisor_wait() must follow a failure.
 */
extern void supervisor_start(Supervisor *supervisor, const ChildPlan *plan, const char *directory,
							 int wait_ms);

/* Takes the reports that have come; never waits. */
extern void supervisor_take_reports(Supervisor *supervisor);

/* The path of twtasks-run. */
extern const char *supervisor_path(void);

/* TERM for the group of the program; KILL for everything. */
extern void supervisor_ask_to_end(const Supervisor *supervisor);
extern void supervisor_kill(const Supervisor *supervisor);

/* Reaps it and takes its last reports; false while it runs. */
extern bool supervisor_reap(Supervisor *supervisor) MUSTCHECK;

/* Waits for the exit of a supervisor that has nothing to supervise, and closes it. */
extern void supervisor_wait(Supervisor *supervisor);

extern void supervisor_close(Supervisor *supervisor);

#endif							/* TWT_SUPERVISOR_H */
