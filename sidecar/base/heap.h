/*-------------------------------------------------------------------------
 *
 * heap.h
 *		A binary heap whose items know their place in it.
 *
 * Because an item is told its place whenever it moves, it can also leave
 * from the middle, or be put right after its key has changed, in O(log n).
 * The heap owns only its array of pointers; items are the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HEAP_H
#define TWT_HEAP_H

/* The place of an item that is in no heap. */
#define HEAP_NOWHERE (-1)

/* a comes before b.  Items that come neither way round leave in any order. */
typedef bool (*HeapLess) (const void *a, const void *b);

/* The item is now at place, or HEAP_NOWHERE. */
typedef void (*HeapPlace) (void *item, int place);

typedef struct Heap
{
	void	  **items;
	int			count;
	int			room;			/* for items */
	HeapLess	less;
	HeapPlace	set_place;
} Heap;

extern void heap_init(Heap *heap, HeapLess less, HeapPlace set_place);

/* Frees the array; items still in it are not told. */
extern void heap_clear(Heap *heap);

extern void heap_push(Heap *heap, void *item);

/* The item that comes first, left in the heap.  NULL: the heap is empty. */
extern void *heap_first(const Heap *heap);

/* Takes out and returns the item at place. */
extern void *heap_remove(Heap *heap, int place);

/* The key of the item at place has changed: puts it where it belongs. */
extern void heap_moved(Heap *heap, int place);

#endif							/* TWT_HEAP_H */
