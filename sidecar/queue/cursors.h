/*-------------------------------------------------------------------------
 *
 * cursors.h
 *		Where the next look at a type's rows goes on.
 *
 *		from, to: sweep.h
 *
 * A type's cursor is the task that the last look brought last.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CURSORS_H
#define TWT_CURSORS_H

#include "pg/wire.h"

typedef struct Cursors Cursors;

extern Cursors *cursors_new(void);
extern void cursors_free(Cursors *cursors);
extern void cursors_clear(Cursors *cursors);

extern bool cursors_any(const Cursors *cursors);

/* Takes the place of the type's cursor, if there is room for one more type. */
extern void cursors_set(Cursors *cursors, const char *type, const uint8 *id);

/* Adds an array of them, but for those types: a look is to go on there. */
extern void cursors_use(Cursors *cursors, const char *const *except, int nexcept,
						WireParams *params);

/*
 * The look is over: calls fn for the types whose cursors were used and not set
 * again, and forgets these.
 */
extern void cursors_end(Cursors *cursors, void (*fn) (void *arg, const char *type),
						void *arg);

#endif							/* TWT_CURSORS_H */
