/*-------------------------------------------------------------------------
 *
 * helper_main.h
 *		The frame of a worker or helper of the sidecar: its hello, lines in, lines out,
 *		its end.
 *
 *		from: main.c of each program, listen.c, triggers.c		to: the program's own part
 *
 * lib/helper/helper.h and sidecar/execute/worker have the other end.  The first line
 * has the settings, which the frame answers, as it answers each {"alive":1}.  The program
 * ends when its input ends, or when it asks for its end; then the sidecar starts it again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELPER_MAIN_H
#define TWT_HELPER_MAIN_H

#include "base/loop.h"
#include "workers/lib/worker_hello.h"

typedef struct HelperMain HelperMain;

typedef struct HelperUse
{
	HelloProgram hello;
	const char *component;		/* names its lines in the log */

	/* Begins its work with these settings, which stay valid. */
	void	   *(*begin) (HelperMain *frame, void *settings);

	/* Takes the settings of a later hello; NULL: no such hello comes. */
	void		(*again) (void *own, void *settings);

	/* A line after the hello; line[len] is NUL.  NULL: it ignores them. */
	void		(*on_line) (void *own, const char *line, size_t len);

	/*
	 * Ends its work, and calls helper_main_stop() when that is done.  NULL:
	 * at once.
	 */
	void		(*leave) (void *own);
} HelperUse;

/* Works until the end, or as its arguments say.  Returns the exit status. */
extern int	helper_main(const HelperUse *use, int argc, char **argv);

extern Loop *helper_main_loop(HelperMain *frame);

/* Whole lines that are appended here are written at the end of the turn. */
extern StringInfo helper_main_out(HelperMain *frame);

/* Calls leave(), after begin() if that runs; the first status counts. */
extern void helper_main_leave(HelperMain *frame, int status);
extern void helper_main_stop(HelperMain *frame);

/*
 * For begin(): TERM calls leave(), and ends the program at once when it is leaving.
 * The sidecar sends TERM some time after it has ended the input.
 */
extern void helper_main_take_term(HelperMain *frame);

#endif							/* TWT_HELPER_MAIN_H */
