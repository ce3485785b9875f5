/*-------------------------------------------------------------------------
 *
 * marks.h
 *		Where sweep_tasks() goes on in types that it has read before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MARKS_H
#define TWT_MARKS_H

#include "base/arrays.h"
#include "table/queued.h"

/* A type of which we read only the tasks after this one. */
typedef struct Mark
{
	char	   *type;
	Datum		priority;
	Datum		id;
} Mark;

typedef struct Marks
{
	Mark	   *each;			/* sorted by type */
	int			n;
} Marks;

/* Reads the tasks with these ids; one that is gone gives no mark. */
extern void marks_read(Marks *marks, const Queued *queued, const Elements *ids);

/* NULL: the type has no mark. */
extern const Mark *marks_of(const Marks *marks, const char *type);

#endif							/* TWT_MARKS_H */
