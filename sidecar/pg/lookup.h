/*-------------------------------------------------------------------------
 *
 * lookup.h
 *		The addresses of a host name, without waiting for them.
 *
 * The system's resolver knows only to wait; so a thread of its own does.  One
 * that nobody waits for any more ends by itself, whenever that is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOOKUP_H
#define TWT_LOOKUP_H

#include "base/loop.h"

typedef struct Lookup Lookup;

/* addresses: as numbers, with commas between them; NULL: error says why. */
typedef void (*LookupFn) (void *arg, const char *addresses, const char *error);

/*
 * fn is called once, later, and the lookup is gone then.  NULL, with errno,
 * when there is no thread to be had.
 */
extern Lookup *lookup_start(Loop *loop, const char *host, LookupFn fn, void *arg) MUSTCHECK;

/* fn will not be called. */
extern void lookup_cancel(Lookup *lookup);

#endif							/* TWT_LOOKUP_H */
