/*-------------------------------------------------------------------------
 *
 * add_order.c
 *		The order in which tasks of one call are added.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "add/add_order.h"

/* An element's place in the array, and the key and id that it will claim. */
typedef struct Place
{
	int			number;
	text	   *key;			/* NULL: none */
	pg_uuid_t  *id;				/* NULL: none */
} Place;

static int
compare_places(const void *a, const void *b)
{
	const Place *x = a;
	const Place *y = b;
	int			c = 0;

	/*
	 * Elements without a key come last; otherwise there would be no total
	 * order.
	 */
	if ((x->key == NULL) != (y->key == NULL))
		return x->key == NULL ? 1 : -1;
	if (x->key != NULL)
		c = DatumGetInt32(DirectFunctionCall2Coll(bttextcmp, C_COLLATION_OID,
												  PointerGetDatum(x->key),
												  PointerGetDatum(y->key)));
	if (c == 0 && (x->id == NULL) != (y->id == NULL))
		return x->id == NULL ? 1 : -1;
	if (c == 0 && x->id != NULL)
		c = memcmp(x->id, y->id, sizeof(pg_uuid_t));
	return c != 0 ? c : (x->number > y->number) - (x->number < y->number);
}

int *
add_order(const NewTask *tasks, int n)
{
	Place	   *places = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Place) * (Size) n);
	int		   *order = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int) * (Size) n);

	for (int i = 0; i < n; i++)
	{
		places[i] = (Place)
		{
			.number = i
		};
		if (!tasks[i].nulls[NEW_KEY])
			places[i].key = DatumGetTextPP(tasks[i].values[NEW_KEY]);
		if (!tasks[i].nulls[NEW_TASK_ID])
			places[i].id = DatumGetUUIDP(tasks[i].values[NEW_TASK_ID]);
	}
	qsort(places, n, sizeof(Place), compare_places);
	for (int i = 0; i < n; i++)
		order[i] = places[i].number;
	pfree(places);
	return order;
}
