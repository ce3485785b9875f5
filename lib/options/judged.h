/*-------------------------------------------------------------------------
 *
 * judged.h
 *		Settings that bundled programs validate themselves.
 *
 *		from: config.c			to: hello.h (hello_check)
 *
 * The sidecar does not know the values of these settings.  Each program is
 * started once for all of its hellos.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JUDGED_H
#define TWT_JUDGED_H

#include "options/option.h"

typedef struct Judged
{
	const char *program;		/* its path */
	const char *hello;			/* carries the settings */
	const char *owner;			/* their section in the file; "": the whole */
	const char *option;			/* the option of a fault that names none */
	const char *use;			/* its argument before --check; NULL: none */
} Judged;

/*
 * False, after options_fail(), if a program refuses its settings.  All that one
 * program judges have the same use.
 */
extern bool judged_all(const Judged *list, int n, const Place *place);

/*
 * Lets twtasks-NAME judge its hello; how has no program and no hello.  Returns the
 * hello; NULL, after options_fail() and freeing it: refused.
 */
extern char *judged_hello(const char *name, char *hello, const Judged *how, const Place *place);

#endif							/* TWT_JUDGED_H */
