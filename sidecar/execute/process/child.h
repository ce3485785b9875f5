/*-------------------------------------------------------------------------
 *
 * child.h
 *		Starts a process with guarantees that posix_spawn() cannot give.
 *
 * Like posix_spawn(), the child shares our memory while we are suspended, so
 * the cost does not grow with our size.  Before it executes its program it
 * gets
 *	- death with the sidecar, however that dies (PR_SET_PDEATHSIG); its
 *	  descendants are not given that (leftovers.h);
 *	- a session and a process group of its own, led by itself;
 *	- no new privileges, umask 077, no core files, default signal handling;
 *	- descriptors 0, 1 and 2, and no others.
 * Signal handling must not change after the first child.
 *
 * A failed execve() differs from a program that ran and failed: the child
 * reports it over a pipe, which a successful execve() closes.
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
	const char *directory;
	int			stdin_fd;
	int			stdout_fd;		/* -1: /dev/null */
	int			stderr_fd;
} ChildPlan;

/* The step of a start that failed. */
typedef enum ChildStep
{
	CHILD_CREATE,
	CHILD_PREPARE,
	CHILD_DIRECTORY,
	CHILD_EXECUTE
} ChildStep;

typedef struct ChildFailure
{
	ChildStep	step;
	int			error;			/* errno */
} ChildFailure;

/*
 * Returns the process id, and in *pidfd a descriptor that the caller closes.
 * On failure returns -1 and sets *failure; the program never ran.  The caller
 * reaps the process.
 */
extern pid_t child_start(const ChildPlan *plan, int *pidfd,
						 ChildFailure *failure) MUSTCHECK;

#endif							/* TWT_CHILD_H */
