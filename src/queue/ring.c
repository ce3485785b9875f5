/*-------------------------------------------------------------------------
 *
 * ring.c
 *		A bounded queue of triggers in shared memory.
 *
 * The ring is Dmitry Vyukov's bounded queue for many producers and many
 * consumers: each cell carries a turn number.  A cell is free for the push at
 * position p when its turn is p, and holds the trigger for the pop at position
 * p when its turn is p + 1.  A process that moves head or tail on by
 * compare-and-swap owns the cell of that position, and passes the cell on by
 * setting its turn.
 *
 * A backend that dies between the two steps would leave its cell for ever.
 * But the only way to die there takes the whole server through crash recovery,
 * which builds the rings anew.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "queue/ring.h"

/* A push gives up after this many lost races; the sweep finds the task. */
#define PUSH_ATTEMPTS 1000

void
ring_init(Ring *ring, RingCell *cells, uint64 ncells)
{
	ring->mask = ncells - 1;
	ring->cells = cells;
	pg_atomic_init_u64(&ring->tail, 0);
	pg_atomic_init_u64(&ring->head, 0);
	for (uint64 i = 0; i < ncells; i++)
		pg_atomic_init_u64(&cells[i].turn, i);
}

/* Claims the cell of the next push; NULL when the ring is full. */
static RingCell *
claim_tail(Ring *ring, uint64 *position)
{
	uint64		p = pg_atomic_read_u64(&ring->tail);

	for (int i = 0; i < PUSH_ATTEMPTS; i++)
	{
		RingCell   *cell = &ring->cells[p & ring->mask];
		int64		ahead = (int64) (pg_atomic_read_u64(&cell->turn) - p);

		if (ahead < 0)
			return NULL;
		if (ahead > 0)
			p = pg_atomic_read_u64(&ring->tail);
		else if (pg_atomic_compare_exchange_u64(&ring->tail, &p, p + 1))
		{
			*position = p;
			return cell;
		}
	}
	return NULL;
}

bool
ring_push(Ring *ring, const TaskTrigger *trigger)
{
	uint64		position = 0;
	RingCell   *cell = claim_tail(ring, &position);

	if (cell == NULL)
		return false;
	pg_read_barrier();
	cell->trigger = *trigger;
	pg_write_barrier();
	pg_atomic_write_u64(&cell->turn, position + 1);
	return true;
}

bool
ring_pop(Ring *ring, TaskTrigger *trigger)
{
	uint64		p = pg_atomic_read_u64(&ring->head);

	for (;;)
	{
		RingCell   *cell = &ring->cells[p & ring->mask];
		int64		ahead = (int64) (pg_atomic_read_u64(&cell->turn) - (p + 1));

		if (ahead < 0)
			return false;
		if (ahead > 0)
			p = pg_atomic_read_u64(&ring->head);
		else if (pg_atomic_compare_exchange_u64(&ring->head, &p, p + 1))
		{
			pg_read_barrier();
			*trigger = cell->trigger;
			pg_memory_barrier();
			pg_atomic_write_u64(&cell->turn, p + ring->mask + 1);
			return true;
		}
	}
}

bool
ring_has_news(Ring *ring)
{
	uint64		p = pg_atomic_read_u64(&ring->head);
	uint64		turn = pg_atomic_read_u64(&ring->cells[p & ring->mask].turn);

	return (int64) (turn - (p + 1)) >= 0;
}

uint64
ring_waiting(Ring *ring)
{
	return pg_atomic_read_u64(&ring->tail) - pg_atomic_read_u64(&ring->head);
}
