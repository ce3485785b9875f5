/*-------------------------------------------------------------------------
 *
 * spawn.h
 *		Child processes: start, end, exit.
 *
 *		from: execute_command.c, execute_worker.c		to: child.h
 *
 * A child leads its own session and process group (child.h).  Its environment
 * has PATH, HOME, LANG, LC_ALL, TZ, USER and TMPDIR if they are set here, the
 * variables of the caller, and TWTASKS_RUN, the token that marks all its
 * descendants (run_token.h).
 *
 * The exit of the leader is the exit of the child, even if another process
 * still holds its pipes.  The rest of its group is killed after that exit but
 * before the leader is reaped: until then no other group can have its number.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SPAWN_H
#define TWT_SPAWN_H

#include "base/loop.h"

typedef struct Child Child;

typedef struct SpawnRequest
{
	char	  **argv;			/* NULL-terminated; argv[0] by PATH */
	const char *directory;		/* NULL is "/" */
	char	  **environment;	/* more NAME=value, NULL-terminated, or NULL */
	bool		wants_stdout;	/* false: stdout is /dev/null */
	bool		shares_stderr;	/* writes to our own stderr, not to a pipe */
	LoopFn		exited;			/* called once, when the leader has exited */
	void	   *arg;
} SpawnRequest;

/* One end of a pipe and how the loop watches it; fd -1 when closed. */
typedef struct SpawnPipe
{
	int			fd;
	LoopIo	   *io;				/* NULL: not watched */
} SpawnPipe;

/* Our ends, non-blocking; the caller closes them. */
typedef struct SpawnPipes
{
	SpawnPipe	in;
	SpawnPipe	out;			/* closed unless wants_stdout */
	SpawnPipe	err;			/* closed if shares_stderr */
} SpawnPipes;

/* Why the program was not started. */
typedef struct SpawnFailure
{
	bool		is_temporary;	/* short of memory, processes or descriptors,
								 * or the program is being replaced */
	bool		is_unfit;		/* also with less data and arguments */
	char	   *message;		/* palloc'd */
} SpawnFailure;

/*
 * Returns NULL and sets *failure if the program never ran.  Sets the signal
 * handling of this process: SIGPIPE is ignored, SIGCHLD is not.
 */
extern Child *spawn_start(Loop *loop, const SpawnRequest *request,
						  SpawnPipes *pipes, SpawnFailure *failure) MUSTCHECK;

/*
 * If the process is a child of ours, reports its exit before the loop does.  False:
 * it is not.
 */
extern bool spawn_note_exit(pid_t pid) MUSTCHECK;

/* Sends TERM to the whole group now, and KILL after the grace. */
extern void spawn_stop(Child *child, int64 grace_us);

/* True as soon as the leader has exited, even before the loop calls exited(). */
extern bool spawn_has_exited(const Child *child);

/*
 * Blocks until the child has exited, at most for the timeout.  For the
 * shutdown only.
 */
extern void spawn_wait(const Child *child, int timeout_ms);

/* The exit status; -1 while it runs, or when a signal ended it. */
extern int	spawn_exit_status(const Child *child);

/* Appends "exited with status 3" or "was ended by signal 9 (Killed)". */
extern void spawn_describe_exit(const Child *child, StringInfo out);

extern const char *spawn_token(const Child *child);
extern int	spawn_pid(const Child *child);

/* Kills the group and reaps the child if it still runs, then frees it. */
extern void spawn_free(Child *child);

/* Watches an open pipe for the events in want. */
extern void spawn_pipe_watch(SpawnPipe *pipe, Loop *loop, int want,
							 LoopIoFn fn, void *arg);
extern void spawn_pipe_close(SpawnPipe *pipe);

/* Whether spawn_start() would find the program. */
extern bool spawn_can_execute(const char *name);

#endif							/* TWT_SPAWN_H */
