/*-------------------------------------------------------------------------
 *
 * bare.h
 *		A program that gets a text on its stdin, and nothing of ours.
 *
 *		from: hello.c, notify_command.c
 *
 * The text is in a file, so a program that reads slowly cannot hold us up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BARE_H
#define TWT_BARE_H

#include <sys/types.h>

/* Returns an anonymous file with the text, to be read from its start, or -1. */
extern int	bare_input(const char *text);

/*
 * Becomes the program, in a child of parent, with an empty environment and without the
 * signal mask of the thread.  It dies with the thread that forked it.  Allocates nothing.
 */
extern void bare_become(char *const *argv, int in, int out, pid_t parent) __attribute__((noreturn));

#endif							/* TWT_BARE_H */
