/*-------------------------------------------------------------------------
 *
 * spawn.h
 *		Child processes: start, end, exit.
 *
 *		from: execute_command.c, execute_worker.c		to: child.h
 *
 * A child leads a session and a process group of its own (child.h), and its
 * environment is built from scratch: PATH, HOME, LANG, LC_ALL, TZ, USER and
 * TMPDIR where we have them, what the caller gives, and TWTASKS_RUN, the
 * token that marks all its descendants (run_token.h).
 *
 * The exit of the leader decides, even if another process still holds its
 * pipes.  The rest of its group is killed when the leader has exited, before it
 * is reaped: until then no other group can have that number.
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
	bool		wants_stdout;	/* else it goes to /dev/null */
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
	SpawnPipe	err;
} SpawnPipes;

/* Why nothing was started. */
typedef struct SpawnFailure
{
	bool		is_temporary;	/* the machine is short of something */
	bool		is_unfit;		/* the program is not there, or may not be run */
	char	   *message;		/* palloc'd */
} SpawnFailure;

/*
 * NULL with *failure: the program never ran.  Makes the process ignore
 * SIGPIPE, and reap its children itself.
 */
extern Child *spawn_start(Loop *loop, const SpawnRequest *request,
						  SpawnPipes *pipes, SpawnFailure *failure) MUSTCHECK;

/* TERM to the whole group now, KILL after the grace.  Once is enough. */
extern void spawn_stop(Child *child, int64 grace_us);

/* True as soon as it is so, even if the loop has not told yet. */
extern bool spawn_has_exited(const Child *child);

/* Blocks until it has exited, or so long.  Only for the end of all. */
extern void spawn_wait(const Child *child, int timeout_ms);

/* The exit status; -1 while it runs, or when a signal ended it. */
extern int	spawn_exit_status(const Child *child);

/* Appends "exited with status 3" or "was ended by signal 9 (Killed)". */
extern void spawn_describe_exit(const Child *child, StringInfo out);

extern const char *spawn_token(const Child *child);
extern int	spawn_pid(const Child *child);

/* Kills the group and reaps the child if it still runs; frees. */
extern void spawn_free(Child *child);

/* Watches the pipe for want; it must be open. */
extern void spawn_pipe_watch(SpawnPipe *pipe, Loop *loop, int want,
							 LoopIoFn fn, void *arg);
extern void spawn_pipe_close(SpawnPipe *pipe);

/* Whether there is such a program, where spawn_start() looks for it. */
extern bool spawn_can_execute(const char *name);

#endif							/* TWT_SPAWN_H */
