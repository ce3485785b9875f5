/*-------------------------------------------------------------------------
 *
 * lookup.h
 *		The addresses of a host name, without waiting for them.
 *
 * The system's resolver blocks, so a thread of its own calls it: blocking.h.  On
 * such a thread, lookup_now() may be called.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOOKUP_H
#define TWT_LOOKUP_H

#include "base/loop.h"

typedef struct Lookup Lookup;

/*
 * The addresses of a name, palloc'd, numeric and separated by commas.  Blocks.
 * Returns NULL, with a palloc'd error, if there are none.
 */
extern char *lookup_now(const char *host, char **error) MUSTCHECK;

/* addresses: as lookup_now() returns them; NULL: error says why. */
typedef void (*LookupFn) (void *arg, const char *addresses, const char *error);

/*
 * Calls fn once, later, and then frees the lookup.  Returns NULL, with errno,
 * if no thread can be started.
 */
extern Lookup *lookup_start(Loop *loop, const char *host, LookupFn fn, void *arg) MUSTCHECK;

/* Cancels the lookup, and does not call fn. */
extern void lookup_cancel(Lookup *lookup);

#endif							/* TWT_LOOKUP_H */
