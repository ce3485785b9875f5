/*-------------------------------------------------------------------------
 *
 * arrays.h
 *		Array arguments with one element per task.
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

/* Returns the elements of an argument; raises 22004 if it is null. */
extern Elements elements_of(FunctionCallInfo fcinfo, int number, const char *name);

/*
 * Returns the places where the caller saw the rows of n tasks, or no elements
 * if the argument is null or empty.
 */
extern Elements places_of(FunctionCallInfo fcinfo, int number, int n);

/*
 * Raises 22023 unless there is one element for each of n tasks, or one for all
 * tasks.
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

/* Returns NULL if the place is not known. */
static inline ItemPointer
element_place(const Elements *elements, int i)
{
	if (elements->n == 0 || elements->nulls[i])
		return NULL;
	return (ItemPointer) DatumGetPointer(elements->values[i]);
}

/*
 * An array of n tasks, as the argument of a statement; null for each if there are no
 * elements.
 */
extern Datum chosen_array(const Elements *elements, const int *which, int n, Oid type);

/* Whether the element for a task is not null and equals word. */
extern bool element_is(const Elements *elements, int i, const char *word);

#endif							/* TWT_ARRAYS_H */
