/*-------------------------------------------------------------------------
 *
 * cursors.h
 *		Where the next look at a type's rows continues.
 *
 *		from, to: look.h
 *
 * A type's cursor is the last task that the last look took.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CURSORS_H
#define TWT_CURSORS_H

#include "table/names.h"
#include "pg/wire.h"

typedef struct Cursors Cursors;

extern Cursors *cursors_new(void);
extern void cursors_free(Cursors *cursors);
extern void cursors_clear(Cursors *cursors);

extern bool cursors_any(const Cursors *cursors);

/* Moves the type's cursor, or adds it if there is room for one more type. */
extern void cursors_set(Cursors *cursors, const char *type, const uint8 *id);

/* Adds the cursors of all types but except as a parameter of a look. */
extern void cursors_use(Cursors *cursors, const Names *except, WireParams *params);

/*
 * The look is over.  Calls fn for each type whose cursor was used and not set
 * again, and forgets that cursor.
 */
extern void cursors_end(Cursors *cursors, void (*fn) (void *arg, const char *type),
						void *arg);

#endif							/* TWT_CURSORS_H */
