/*-------------------------------------------------------------------------
 *
 * heap.h
 *		A binary heap whose items know their place in it.
 *
 * Because an item learns its place whenever it moves, it can also leave
 * from the middle, or be put right after its key has changed, in O(log n).
 * The heap owns only its array of pointers; items are the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HEAP_H
#define TWT_HEAP_H

/* The place of an item that is in no heap. */
#define HEAP_NOWHERE (-1)

/* Whether a comes before b.  Items of equal rank leave in any order. */
typedef bool (*HeapLess) (const void *a, const void *b);

/* Tells the item its new place, or HEAP_NOWHERE. */
typedef void (*HeapPlace) (void *item, int place);

typedef struct Heap
{
	void	  **items;
	int			count;
	int			room;			/* items that fit into the array */
	HeapLess	less;
	HeapPlace	set_place;
} Heap;

extern void heap_init(Heap *heap, HeapLess less, HeapPlace set_place);

/* Frees the array.  Items still in the heap get no HeapPlace call. */
extern void heap_clear(Heap *heap);

extern void heap_push(Heap *heap, void *item);

/*
 * Returns the first item and leaves it in the heap; NULL if the heap is empty.
 */
extern void *heap_first(const Heap *heap);

/* Takes out and returns the item at place. */
extern void *heap_remove(Heap *heap, int place);

/* Moves the item at place to where its changed key belongs. */
extern void heap_moved(Heap *heap, int place);

#endif							/* TWT_HEAP_H */
