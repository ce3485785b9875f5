/*-------------------------------------------------------------------------
 *
 * crowd.c
 *		Counts how much of a table each type and each family of types uses.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "table/crowd.h"

typedef struct Family
{
	char	   *name;
	int			waiting;
	Heap		columns;		/* the biggest first */
	int			place;			/* position in Crowd.families */
} Family;

struct Crowd
{
	Map		   *by_name;
	Heap		families;		/* the biggest first */
};

/*
 * The bigger column is first; of equal ones, the column with the least urgent
 * entry.
 */
static bool
is_bigger_column(const void *a, const void *b)
{
	const Column *left = a;
	const Column *right = b;

	if (left->waiting != right->waiting)
		return left->waiting > right->waiting;
	return column_least_urgent(left) > column_least_urgent(right);
}

static void
set_column_place(void *item, int place)
{
	((Column *) item)->family_place = place;
}

static bool
is_bigger_family(const void *a, const void *b)
{
	const Family *left = a;
	const Family *right = b;

	if (left->waiting != right->waiting)
		return left->waiting > right->waiting;
	return left->waiting > 0 &&
		column_least_urgent(heap_first(&left->columns)) >
		column_least_urgent(heap_first(&right->columns));
}

static void
set_family_place(void *item, int place)
{
	((Family *) item)->place = place;
}

Crowd *
crowd_new(void)
{
	Crowd	   *crowd = palloc0(sizeof(Crowd));

	crowd->by_name = map_new(0);
	heap_init(&crowd->families, is_bigger_family, set_family_place);
	return crowd;
}

void
crowd_free(Crowd *crowd)
{
	Assert(crowd->families.count == 0);
	map_free(crowd->by_name);
	heap_clear(&crowd->families);
	pfree(crowd);
}

static Family *
make_family(Crowd *crowd, char *name)
{
	Family	   *family = palloc0(sizeof(Family));

	family->name = name;
	heap_init(&family->columns, is_bigger_column, set_column_place);
	heap_push(&crowd->families, family);
	map_set(crowd->by_name, name, family);
	return family;
}

void
crowd_join(Crowd *crowd, Column *column)
{
	char	   *name = pnstrdup(column->type, strcspn(column->type, "|"));

	column->family = map_get(crowd->by_name, name);
	if (column->family == NULL)
		column->family = make_family(crowd, name);
	else
		pfree(name);
	heap_push(&column->family->columns, column);
}

void
crowd_leave(Crowd *crowd, Column *column)
{
	Family	   *family = column->family;

	Assert(column->waiting == 0);
	heap_remove(&family->columns, column->family_place);
	if (family->columns.count > 0)
		return;
	heap_remove(&crowd->families, family->place);
	map_remove(crowd->by_name, family->name);
	heap_clear(&family->columns);
	pfree(family->name);
	pfree(family);
}

void
crowd_count(Crowd *crowd, Column *column, int change)
{
	Family	   *family = column->family;

	family->waiting += change;
	heap_moved(&family->columns, column->family_place);
	heap_moved(&crowd->families, family->place);
}

static Column *
less_urgent(Column *a, Column *b)
{
	return column_least_urgent(b) > column_least_urgent(a) ? b : a;
}

/*
 * If the column would become as big as the other one, the other gives way only
 * to a more urgent entry.  Otherwise the two would push each other out in
 * turn.
 */
Column *
crowd_makes_room(const Crowd *crowd, Column *column, int priority)
{
	Family	   *biggest = heap_first(&crowd->families);
	Column	   *other = heap_first(&column->family->columns);
	Column	   *least = column;

	if (biggest->waiting > column->family->waiting + 1)
		return heap_first(&biggest->columns);
	if (other->waiting > column->waiting + 1)
		return other;
	if (other->waiting > column->waiting)
		least = less_urgent(least, other);
	if (biggest->waiting > column->family->waiting)
		least = less_urgent(least, heap_first(&biggest->columns));
	return column_least_urgent(least) > priority ? least : NULL;
}
