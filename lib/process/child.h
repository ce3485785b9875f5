/*-------------------------------------------------------------------------
 *
 * child.h
 *		Starts a process with guarantees that posix_spawn() cannot give.
 *
 * Like posix_spawn(), the child shares our memory while we are suspended, so
 * the cost does not grow with our size.  Before it executes its program it
 * gets
 *	- a session and a process group of its own, led by itself;
 *	- no new privileges, umask 077, no core files, default signal handling, with
 *	  all signals blocked;
 *	- descriptors 0, 1 and 2, the report pipe, and no others.
 * Signal handling must not change after the first child.
 *
 * A failure before the program runs comes over the report pipe (run_report.h).  The
 * program inherits the writing end of this pipe, for reports of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHILD_H
#define TWT_CHILD_H

#include <sys/types.h>

typedef struct ChildPlan
{
	const char *program;		/* a path; PATH is not searched */
	char	  **argv;			/* NULL-terminated */
	char	  **environment;	/* complete, NULL-terminated */
	int			stdin_fd;
	int			stdout_fd;		/* -1: /dev/null */
	int			stderr_fd;
	int			report_fd;
} ChildPlan;

/*
 * Returns the process id, and in *pidfd a descriptor that the caller closes; on
 * failure -1, with errno set.  The caller reaps the process.
 */
extern pid_t child_start(const ChildPlan *plan, int *pidfd) MUSTCHECK;

#endif							/* TWT_CHILD_H */
