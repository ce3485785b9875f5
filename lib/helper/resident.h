/*-------------------------------------------------------------------------
 *
 * resident.h
 *		One process that stays: its start, its lines, its end, and its next start.
 *
 *		from: helper.c, worker_process.c		to: spawn.h, helper_log.h
 *
 * A resident is a program beside the sidecar that speaks in lines.  Its first line, the
 * hello, has its settings.  A helper and each process of a worker handler are one.
 * TWTASKS_WORKER=1 in its environment tells libraries that stdout is for lines, before
 * it has read the hello.
 *
 *	 state		timer				what ends it
 *	 down		the next start		the timer: starting
 *	 starting	a look				its hello is read or answered: running
 *	 running	its owner's			its exit: down; a closed pipe, resident_leave(): leaving;
 *									resident_end(): ending
 *	 leaving	leave_us			its exit: down; the timer: ending
 *	 ending							it got TERM, and KILL after a grace: down
 *
 * The process has exited when its whole tree is gone (spawn.h).  Its last lines are
 * passed on before that is told.
 *
 * A process that was useful, since it ran for 30 s or its owner says so, is followed by
 * another one at once, but after 100 ms at least.  Otherwise the delay doubles, up to
 * 30 s.  A process that was to end is followed without any delay.
 *
 * Lines are collected in resident_input() until resident_flush(), and its end closes
 * the pipe.  Bytes in the pipe that the process has not read are taken out of it, where
 * no descendant can read them any more, and count as never sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RESIDENT_H
#define TWT_RESIDENT_H

#include "base/lines.h"
#include "process/spawn.h"

typedef struct Resident Resident;

typedef enum ResidentState
{
	RESIDENT_DOWN,
	RESIDENT_STARTING,
	RESIDENT_RUNNING,
	RESIDENT_LEAVING,			/* its input has ended, so it should exit */
	RESIDENT_ENDING
} ResidentState;

/* Why it cannot work. */
typedef enum Trouble
{
	TROUBLE_NONE,
	TROUBLE_SHORTAGE,			/* short of memory, processes or descriptors */
	TROUBLE_UNFIT				/* the program is missing, ends at once, or
								 * refused its hello */
} Trouble;

/* The next process; the owner keeps all of it. */
typedef struct ResidentStart
{
	char	  **argv;
	const char *directory;
	char	  **environment;
	const char *hello;			/* without a line end */
	int64		leave_us;		/* from the end of its input to TERM */
	int64		grace_us;		/* from TERM to KILL */
} ResidentStart;

/* The process is gone. */
typedef struct ResidentEnd
{
	int			pid;
	const char *how;			/* such as: exited with status 3 */
	const char *reason;			/* why it was ended; NULL: it ended by itself */
	int64		unread;			/* bytes taken out of the pipe */
	int64		delay_us;		/* until the next start */
	const SpawnFailure *failure;	/* NULL: the program ran */
} ResidentEnd;

/* One kind of owner.  No callback may free the resident. */
typedef struct ResidentOwner
{
	bool		shares_stderr;	/* false: stderr goes to our log, line by line */
	bool		answers;		/* false: it works when it has read its hello */

	void		(*prepare) (void *arg, ResidentStart *start);

	/* There is no process, for want of anything that a start needs. */
	void		(*on_failure) (void *arg, const SpawnFailure *failure);

	/* It has neither read nor answered its hello for a minute. */
	void		(*on_slow) (void *arg);

	/* It runs; NULL: nobody asks. */
	void		(*on_running) (void *arg);

	/* The time of resident_look_in() has passed, and it is still running. */
	void		(*on_look) (void *arg);

	/* A line without its end, in any state; line[len] is NUL. */
	void		(*on_line) (void *arg, const char *line, size_t len);

	/* A line longer than WORKER_LINE_MAX, of which head is the beginning. */
	void		(*on_long_line) (void *arg, const char *head);

	/* It is down; its last line was passed on. */
	void		(*on_end) (void *arg, const ResidentEnd *end);
} ResidentOwner;

/* name is the source of its lines in the log; the caller keeps both. */
extern Resident *resident_new(Loop *loop, const ResidentOwner *owner, void *arg, const char *name);

/* Kills the process, if it still runs after that time, and all of its tree. */
extern void resident_free(Resident *resident, int patience_ms);

/* ---- its life ---- */

/* From now on there is a process: starts one if it is down. */
extern void resident_run(Resident *resident);

/* No process follows this one. */
extern void resident_stay_down(Resident *resident);

/* Its greeting is done, since it has answered. */
extern void resident_running(Resident *resident);

/* This process is to end: without delay for the next one. */
extern void resident_want_end(Resident *resident);

/* Ends its input, after the lines that the pipe takes. */
extern void resident_leave(Resident *resident, const char *reason);

/* Asks it to exit, by TERM and the end of its input. */
extern void resident_end(Resident *resident, const char *reason);

/* The same at the end of the loop, which sees no exit any more. */
extern void resident_dismiss(Resident *resident);

extern ResidentState resident_state(const Resident *resident);

/* Whether it can take input. */
extern bool resident_is_up(const Resident *resident);
extern bool resident_is_to_end(const Resident *resident);
extern int	resident_starts(const Resident *resident);
extern int	resident_pid(const Resident *resident);
extern bool resident_is_young(const Resident *resident);
extern void resident_was_useful(Resident *resident);

/* While it runs, calls on_look() once after that time; below 0: never. */
extern void resident_look_in(Resident *resident, int64 delay_us);

/* The last line of its stderr, without an end; *len is 0 if there was none. */
extern const char *resident_last_words(const Resident *resident, int *len);

/* From now on keeps the end of this process's stderr, at most max bytes; forgets the rest. */
extern void resident_keep_words(Resident *resident, size_t max);

/* Appends ": " and what is kept; nothing if it wrote nothing. */
extern void resident_add_words(const Resident *resident, StringInfo out);

/* ---- its input ---- */

extern LineWriter *resident_input(Resident *resident);
extern void resident_say(Resident *resident, const char *line, size_t len);

/* Writes what the pipe takes; the rest follows in a later flush. */
extern void resident_flush(Resident *resident);

/* No turn is wanted for the lines until the next flush. */
extern void resident_hold(Resident *resident);

/* ---- its trouble ---- */

/* Takes over the sentence; NULL: no trouble. */
extern void resident_set_trouble(Resident *resident, Trouble trouble, char *sentence);

/* NULL: there is none, or is_unfit and it is a shortage. */
extern const char *resident_trouble(const Resident *resident, bool is_unfit);

#endif							/* TWT_RESIDENT_H */
