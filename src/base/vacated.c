/*-------------------------------------------------------------------------
 *
 * vacated.c
 *		Pages of twtasks.task that rows have left, offered to new rows.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/vacated.h"

/* Notes that a session keeps; a power of two.  The oldest give way. */
#define NOTES 4096

/* Pages that one call offers, which bounds its time after a long snapshot. */
#define OFFERED_AT_ONCE 512

typedef struct Note
{
	TransactionId deleter;
	BlockNumber page;
} Note;

static Note notes[NOTES];
static uint32 oldest;
static uint32 newest;			/* one beyond the last note */
static Oid	noted_table;

void
vacated_note(Relation table, BlockNumber page)
{
	TransactionId deleter = GetCurrentTransactionId();
	const Note *last = &notes[(newest - 1) % NOTES];

	if (noted_table != RelationGetRelid(table))
	{
		noted_table = RelationGetRelid(table);
		oldest = newest;
	}
	if (oldest != newest && last->page == page && last->deleter == deleter)
		return;
	notes[newest++ % NOTES] = (Note)
	{
		.deleter = deleter, .page = page
	};
	if (newest - oldest > NOTES)
		oldest = newest - NOTES;
}

/* The pruning passes over a page that somebody else has pinned. */
static void
offer_page(Relation table, BlockNumber page)
{
	Buffer		buffer = ReadBuffer(table, page);
	Size		room;

	heap_page_prune_opt(table, buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	room = PageGetHeapFreeSpace(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	RecordPageWithFreeSpace(table, page, room);
}

void
vacated_offer(Relation table)
{
	GlobalVisState *visible;
	BlockNumber blocks,
				first = InvalidBlockNumber,
				end = 0;

	if (oldest == newest || noted_table != RelationGetRelid(table) ||
		table->rd_tableam != GetHeapamTableAmRoutine())
		return;
	visible = GlobalVisTestFor(table);
	/* A table that was rewritten may end before a noted page. */
	blocks = RelationGetNumberOfBlocks(table);
	for (int i = 0; i < OFFERED_AT_ONCE && oldest != newest; i++, oldest++)
	{
		const Note *note = &notes[oldest % NOTES];

		if (!GlobalVisTestIsRemovableXid(visible, note->deleter))
			break;
		if (note->page >= blocks)
			continue;
		offer_page(table, note->page);
		first = Min(first, note->page);
		end = Max(end, note->page + 1);
	}
	/* Searches start at the upper pages of the map. */
	if (end > 0)
		FreeSpaceMapVacuumRange(table, first, end);
}
