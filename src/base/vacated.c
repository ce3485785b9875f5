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

/* Pages, about as many as a page of the free space map knows. */
#define FAR 4000

typedef struct PageRange
{
	BlockNumber first;
	BlockNumber end;			/* one beyond the last; 0: there is none */
} PageRange;

typedef struct Note
{
	TransactionId deleter;
	BlockNumber page;
	Buffer		buffer;			/* where the page was */
} Note;

static Note notes[NOTES];
static uint32 oldest;
static uint32 newest;			/* one beyond the last note */
static Oid	noted_table;

void
vacated_note(Relation table, TupleTableSlot *row)
{
	TransactionId deleter = GetCurrentTransactionId();
	BlockNumber page = ItemPointerGetBlockNumber(&row->tts_tid);
	const Note *last = &notes[(newest - 1) % NOTES];

	if (!TTS_IS_BUFFERTUPLE(row))
		return;
	if (noted_table != RelationGetRelid(table))
	{
		noted_table = RelationGetRelid(table);
		oldest = newest;
	}
	if (oldest != newest && last->page == page && last->deleter == deleter)
		return;
	notes[newest++ % NOTES] = (Note)
	{
		.deleter = deleter, .page = page, .buffer = ((BufferHeapTupleTableSlot *) row)->buffer
	};
	if (newest - oldest > NOTES)
		oldest = newest - NOTES;
}

/*
 * Returns whether the page is still in its buffer.  Pages are not read again, since
 * one that cannot be read would fail a call that has other work.  The pruning
 * passes over a page that somebody else has pinned.
 */
static bool
offer_page(Relation table, const Note *note)
{
	Size		room;

	if (!BufferIsValid(note->buffer) ||
		!ReadRecentBuffer(twt_locator(table), MAIN_FORKNUM, note->page, note->buffer))
		return false;
	heap_page_prune_opt(table, note->buffer);
	LockBuffer(note->buffer, BUFFER_LOCK_SHARE);
	room = PageGetHeapFreeSpace(BufferGetPage(note->buffer));
	UnlockReleaseBuffer(note->buffer);
	RecordPageWithFreeSpace(table, note->page, room);
	return true;
}

/* Searches start at the upper pages of the map. */
static void
publish(Relation table, const PageRange *told)
{
	if (told->end > 0)
		FreeSpaceMapVacuumRange(table, told->first, told->end);
}

/* Pages far apart are published apart, since all of the map between is read. */
static void
widen(Relation table, PageRange *told, BlockNumber page)
{
	if (told->end > 0 && (page > told->end + FAR || page + FAR < told->first))
	{
		publish(table, told);
		*told = (PageRange)
		{
			InvalidBlockNumber, 0
		};
	}
	told->first = Min(told->first, page);
	told->end = Max(told->end, page + 1);
}

void
vacated_offer(Relation table)
{
	GlobalVisState *visible;
	PageRange	told = {InvalidBlockNumber, 0};

	if (oldest == newest || noted_table != RelationGetRelid(table) ||
		table->rd_tableam != GetHeapamTableAmRoutine())
		return;
	visible = GlobalVisTestFor(table);
	for (int i = 0; i < OFFERED_AT_ONCE && oldest != newest; i++)
	{
		const Note *note = &notes[oldest % NOTES];

		if (!GlobalVisTestIsRemovableXid(visible, note->deleter))
			break;
		oldest++;
		if (offer_page(table, note))
			widen(table, &told, note->page);
	}
	publish(table, &told);
}
