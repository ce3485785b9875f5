/*-------------------------------------------------------------------------
 *
 * helper.h
 *		One bundled program that stays beside this sidecar.
 *
 *		from: listeners.c, forward.c, election.c	to: resident.h, workers/lib/helper_main.h
 *
 * A helper does what may crash, block or leak without harm to the sidecar.  It
 * reads lines of JSON on stdin and writes lines of JSON on stdout.  Its first
 * line, the hello, has all its settings, so none is in its arguments or its
 * environment.  It answers {"ready":1}, or {"error":"..."} if it refuses them, and
 * later each {"alive":1} with the same.  It ends when its input ends.  It writes its
 * own log lines to our stderr, in the format that the hello names.
 *
 * Its process is a resident, whose states are those of the helper.  A helper that is
 * up has 60 s to answer its hello, and is ended when it writes nothing for 20 s.  Its
 * trouble lasts until a later process is 30 s old.
 *
 * The process dies with this sidecar (spawn.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELPER_H
#define TWT_HELPER_H

#include <jansson.h>

#include "base/loop.h"

typedef struct Helper Helper;

/* One kind of helper.  No callback may free the helper. */
typedef struct HelperProgram
{
	const char *component;		/* names our lines in the log */
	const char *subject;		/* begins its troubles, such as helper "NAME" */
	const char *bundled;		/* twtasks-NAME */
	const char *use;			/* its argument; NULL: none */
	const char *const *variables;	/* beginnings of names of variables that
									 * it gets; ends with NULL.  NULL: none */
	int64		leave_us;		/* from the end of its input to TERM */

	/* It has answered the hello; NULL: nobody asks. */
	void		(*on_ready) (void *arg);

	/* A line without its end, in any state; line[len] is NUL. */
	void		(*on_line) (void *arg, const char *line, size_t len);

	/* It is down, asked or unasked, and its last line was passed on; or NULL. */
	void		(*on_gone) (void *arg);
} HelperProgram;

/* program outlives the helper. */
extern Helper *helper_new(Loop *loop, const HelperProgram *program, void *arg);

/* Kills the process if it still runs. */
extern void helper_free(Helper *helper);

/*
 * The helper runs with this hello, a line without its end, from now on.  Call it as
 * often as you like.  Another hello than before ends the process, and starts it
 * again.
 */
extern void helper_run(Helper *helper, const char *hello);

/* The next helper_run() starts another process: files that its hello names may have changed. */
extern void helper_renew(Helper *helper);

/* The helper ends in order, and stays down.  why is a constant, for the log. */
extern void helper_end(Helper *helper, const char *why);

/* Whether it has answered its hello, and is not ending. */
extern bool helper_is_ready(const Helper *helper);

/* Whether there is no process. */
extern bool helper_is_down(const Helper *helper);

/*
 * Adds a line, or several, without the last end; the lines of a turn go in one write.
 * False: it is not ready, or does not read.
 */
extern bool helper_send(Helper *helper, const char *line, size_t len);

/* Whether lines wait for a helper that is ready. */
extern bool helper_has_input(const Helper *helper);

/*
 * One sentence: why it cannot be started, or ends again and again; NULL: it works.
 * Valid until the end of the turn.
 */
extern const char *helper_trouble(const Helper *helper);

/* Adds the trouble to the list, if there is one. */
extern void helper_add_trouble(const Helper *helper, json_t *list);

#endif							/* TWT_HELPER_H */
