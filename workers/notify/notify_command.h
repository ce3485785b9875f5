/*-------------------------------------------------------------------------
 *
 * notify_command.h
 *		A message given to a program, as JSON on its stdin.
 *
 *		from: notifier.c
 *
 * There is no shell.  The program has 10 s; then it and its group of processes are killed.
 * Exit status 0 means that it took the message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_COMMAND_H
#define TWT_NOTIFY_COMMAND_H

#include "base/loop.h"

/* answer: what became of the program. */
typedef void (*NotifyCommandDone) (void *arg, bool is_sent, const char *answer);

/*
 * Starts the program.  False: it could not be started, for want of processes or
 * descriptors; else done(arg, ...) is called once, later.
 */
extern bool notify_command(Loop *loop, char *const *argv, const char *input,
						   NotifyCommandDone done, void *arg) MUSTCHECK;

#endif							/* TWT_NOTIFY_COMMAND_H */
