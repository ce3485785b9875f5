#include "base/port.h"

#include "base/heap.h"

void
heap_init(Heap *heap, HeapLess less, HeapPlace set_place)
{
	memset(heap, 0, sizeof(*heap));
	heap->less = less;
	heap->set_place = set_place;
}

void
heap_clear(Heap *heap)
{
	if (heap->items != NULL)
		pfree(heap->items);
	heap->items = NULL;
	heap->count = heap->room = 0;
}

static void
put(Heap *heap, int place, void *item)
{
	heap->items[place] = item;
	heap->set_place(item, place);
}

/* Moves the hole at place up until item may fill it. */
static int
sift_up(Heap *heap, int place, const void *item)
{
	while (place > 0)
	{
		int			parent = (place - 1) / 2;

		if (!heap->less(item, heap->items[parent]))
			break;
		put(heap, place, heap->items[parent]);
		place = parent;
	}
	return place;
}

/* Moves the hole at place down until item may fill it. */
static int
sift_down(Heap *heap, int place, const void *item)
{
	for (;;)
	{
		int			child = 2 * place + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
			heap->less(heap->items[child + 1], heap->items[child]))
			child++;
		if (!heap->less(heap->items[child], item))
			break;
		put(heap, place, heap->items[child]);
		place = child;
	}
	return place;
}

void
heap_push(Heap *heap, void *item)
{
	if (heap->count == heap->room)
	{
		heap->room = Max(16, heap->room * 2);
		heap->items = pg_realloc(heap->items, heap->room * sizeof(void *));
	}
	heap->count++;
	put(heap, sift_up(heap, heap->count - 1, item), item);
}

void *
heap_first(const Heap *heap)
{
	return heap->count > 0 ? heap->items[0] : NULL;
}

void *
heap_remove(Heap *heap, int place)
{
	void	   *item;
	void	   *last;

	Assert(place >= 0 && place < heap->count);
	item = heap->items[place];
	last = heap->items[--heap->count];
	if (place < heap->count)
	{
		heap->items[place] = last;
		heap_moved(heap, place);
	}
	heap->set_place(item, HEAP_NOWHERE);
	return item;
}

void
heap_moved(Heap *heap, int place)
{
	void	   *item;

	Assert(place >= 0 && place < heap->count);
	item = heap->items[place];
	place = sift_up(heap, place, item);
	put(heap, sift_down(heap, place, item), item);
}
