/*-------------------------------------------------------------------------
 *
 * spawn.h
 *		Child processes: start, end, exit.
 *
 *		from: execute_command.c, worker_process.c, helper.c		to: child.h, twtasks-run
 *
 * A child is a program under a supervisor of its own, twtasks-run, which dies with
 * us and leaves nothing of the program running: no process below it, in whatever
 * session or environment (workers/run/main.c).  The child has exited when its
 * supervisor has: then the program and all processes below it are gone, except
 * processes that KILL does not end within 5 s, and while we kill what a killed
 * supervisor has left (adopted.h).
 *
 * The supervisor tells in a pipe whether the program was executed, and how it
 * ended (run_report.h).  A supervisor that was killed tells nothing; then the
 * kernel kills the program.
 *
 * Supervisor and program each lead a session and process group of their own
 * (child.h).  The environment has PATH, HOME, LANG, LC_ALL, TZ, USER and TMPDIR if
 * they are set here, and the variables of the caller, which replace them.
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
	char	  **variables;		/* the same, of another owner */
	bool		wants_stdout;	/* false: stdout is /dev/null */
	bool		shares_stderr;	/* writes to our own stderr, not to a pipe */
	bool		is_awaited;		/* blocks up to 100 ms until the program is
								 * executed, or fails */
	LoopFn		exited;			/* called once, when the child has exited */
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
 * Returns NULL and sets *failure if the program never ran, as far as that is known
 * now.  A later failure is known when the child has exited (spawn_never_ran()).
 * Makes this process a subreaper, and sets its signal handling: SIGPIPE is ignored,
 * SIGCHLD is not.
 */
extern Child *spawn_start(Loop *loop, const SpawnRequest *request,
						  SpawnPipes *pipes, SpawnFailure *failure) MUSTCHECK;

/*
 * If the process is the supervisor of a child, reports its exit before the loop
 * does.  False: it is not.
 */
extern bool spawn_note_exit(pid_t pid) MUSTCHECK;

/* Sends TERM to the program's group now, and kills all of the child after the grace. */
extern void spawn_stop(Child *child, int64 grace_us);

/* Begins to kill all of the child. */
extern void spawn_kill(Child *child);

/* Whether the program has ended; processes that it has left may still be dying. */
extern bool spawn_has_ended(Child *child);

/*
 * Blocks until the child has exited, at most for the timeout.  For the
 * shutdown only.
 */
extern void spawn_wait(const Child *child, int timeout_ms);

/* The exit status; -1 while it runs, or when a signal ended it. */
extern int	spawn_exit_status(const Child *child);

/* After the exit: if the program never ran, sets *failure and returns true. */
extern bool spawn_never_ran(const Child *child, SpawnFailure *failure) MUSTCHECK;

/*
 * Appends "exited with status 3", "was ended by signal 9 (Killed)", or the message
 * of the failure.
 */
extern void spawn_describe_exit(const Child *child, StringInfo out);

/* The program's process id; until it is known, the id of its supervisor. */
extern int	spawn_pid(Child *child);

/* Kills and reaps the child if it still runs, then frees it. */
extern void spawn_free(Child *child);

/* Watches an open pipe for the events in want. */
extern void spawn_pipe_watch(SpawnPipe *pipe, Loop *loop, int want,
							 LoopIoFn fn, void *arg);
extern void spawn_pipe_close(SpawnPipe *pipe);

/* Whether spawn_start() would find the program. */
extern bool spawn_can_execute(const char *name);

#endif							/* TWT_SPAWN_H */
