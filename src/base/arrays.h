/*-------------------------------------------------------------------------
 *
 * arrays.h
 *		Arguments that are arrays, an element per task.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ARRAYS_H
#define TWT_ARRAYS_H

#include "fmgr.h"
#include "storage/itemptr.h"

typedef struct Elements
{
	Datum	   *values;
	bool	   *nulls;
	int			n;
} Elements;

/* The elements of an argument; 22004 when it is null. */
extern Elements elements_of(FunctionCallInfo fcinfo, int number, const char *name);

/*
 * The places where the caller saw the rows of n tasks; none when null or
 * empty.
 */
extern Elements places_of(FunctionCallInfo fcinfo, int number, int n);

/*
 * 22023 unless there is one element for each of n tasks, or one for all of
 * them.
 */
extern void check_length(const Elements *elements, int n);

/* The element for a task. */
static inline Datum
element(const Elements *elements, int i)
{
	return elements->values[elements->n == 1 ? 0 : i];
}

static inline bool
element_null(const Elements *elements, int i)
{
	return elements->nulls[elements->n == 1 ? 0 : i];
}

/* NULL: not known. */
static inline ItemPointer
element_place(const Elements *elements, int i)
{
	if (elements->n == 0 || elements->nulls[i])
		return NULL;
	return (ItemPointer) DatumGetPointer(elements->values[i]);
}

/* Whether the element for a task, not null, is that text. */
extern bool element_is(const Elements *elements, int i, const char *word);

#endif							/* TWT_ARRAYS_H */
