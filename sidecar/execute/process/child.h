/*-------------------------------------------------------------------------
 *
 * child.h
 *		A process started by hand: what posix_spawn() cannot promise.
 *
 * The child is born sharing our memory while we are suspended, as
 * posix_spawn() does it: the cost does not grow with our size.  Before it
 * executes its program it is given
 *	- death with the sidecar, however that dies (PR_SET_PDEATHSIG); its
 *	  descendants are not given that (leftovers.h);
 *	- a session and a process group of its own, led by itself;
 *	- no new privileges, umask 077, no core files, default signal handling;
 *	- descriptors 0, 1 and 2, and no others.
 *
 * A program that could not be executed is told apart from one that ran and
 * failed: the child reports over a pipe that executing closes.
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
	char	  **environment;	/* all of it, NULL-terminated */
	const char *directory;
	int			stdin_fd;
	int			stdout_fd;		/* -1: /dev/null */
	int			stderr_fd;
} ChildPlan;

/* How far a start came before it failed. */
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
 * Returns the process id and, in *pidfd, a descriptor for it that the caller
 * closes; or -1 with *failure, and then the program never ran.  The caller
 * reaps the process.
 */
extern pid_t child_start(const ChildPlan *plan, int *pidfd,
						 ChildFailure *failure) MUSTCHECK;

#endif							/* TWT_CHILD_H */
