/*-------------------------------------------------------------------------
 *
 * partition.c
 *		The messages of one partition, on their way into the database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/partition.h"

#define WAIT_MIN_US MS_TO_US(100)
#define WAIT_MAX_US SECONDS_TO_US(30)

struct Partition
{
	char	   *topic;
	int			number;
	PartitionState state;
	LogEnds		ends;
	int64		offset;
	int64		told;			/* the offset that was told last; -1: none */
	int64		known;			/* the one told before the look began */
	int64		position;
	bool		is_fetched;		/* messages come from the position on */
	bool		is_lost;		/* ... and came, until it is placed anew */
	dlist_head	messages;		/* by offset, from offset to position */
	int64		bytes;			/* the sum of their memory */
	int			taking;			/* messages of the run under way */
	int64		taking_end;		/* its to_offset */
	int64		suspect_end;	/* a message below this offset is at fault; 0:
								 * none */
	int64		wait_us;		/* after the next failure */
	char	   *trouble;		/* as told; NULL: none */
};

static void
set_state(Partition *partition, PartitionState state)
{
	static const uint8 before[] = {
		[PARTITION_LOOKING] = 1 << PARTITION_WAITING,
		[PARTITION_PLACING] = 1 << PARTITION_LOOKING,
		[PARTITION_READING] = 1 << PARTITION_PLACING | 1 << PARTITION_TAKING,
		[PARTITION_TAKING] = 1 << PARTITION_READING,
		[PARTITION_WAITING] = 0xff
	};

	if ((before[state] & 1 << partition->state) == 0)
		abort();
	partition->state = state;
}

Partition *
partition_new(const char *topic, int number)
{
	Partition  *partition = palloc0(sizeof(Partition));

	partition->topic = pstrdup(topic);
	partition->number = number;
	partition->state = PARTITION_LOOKING;
	partition->known = -1;
	partition->told = -1;
	partition->position = PARTITION_NOWHERE;
	partition->wait_us = WAIT_MIN_US;
	dlist_init(&partition->messages);
	return partition;
}

/* Messages without a value take memory, too. */
static int64
memory_of(const Message *message)
{
	return sizeof(Message) + message->size;
}

/* Frees the messages below the offset. */
static void
drop_below(Partition *partition, int64 offset)
{
	while (!dlist_is_empty(&partition->messages))
	{
		Message    *message = dlist_head_element(Message, node, &partition->messages);

		if (message->offset >= offset)
			break;
		dlist_delete(&message->node);
		partition->bytes -= memory_of(message);
		message_free(message);
	}
}

void
partition_free(Partition *partition)
{
	drop_below(partition, PG_INT64_MAX);
	pfree(partition->topic);
	pfree(partition->trouble);
	pfree(partition);
}

const char *
partition_topic(const Partition *partition)
{
	return partition->topic;
}

int
partition_number(const Partition *partition)
{
	return partition->number;
}

PartitionState
partition_state(const Partition *partition)
{
	return partition->state;
}

int64
partition_offset(const Partition *partition)
{
	return partition->offset;
}

int64
partition_position(const Partition *partition)
{
	return partition->is_lost ? PARTITION_NOWHERE : partition->position;
}

void
partition_look(Partition *partition)
{
	set_state(partition, PARTITION_LOOKING);
	partition->known = partition->told;
}

int64
partition_found(Partition *partition, const LogEnds *ends, PartitionStart start)
{
	set_state(partition, PARTITION_PLACING);
	partition->ends = *ends;
	if (start == PARTITION_EARLIEST)
		return ends->first;
	return start == PARTITION_YOUNG && ends->young >= 0 ? ends->young : ends->end;
}

/*
 * A log that ends before the messages in memory has lost them, as with a leader that
 * lacked them.  Other messages will have their offsets.
 */
static void
forget_if_undone(Partition *partition)
{
	if (partition->is_lost && partition->position > partition->ends.end)
		partition_forget(partition);
}

/*
 * The ends were seen at the last look.  Otherwise they do not matter for an offset that
 * is among the messages in memory.
 */
PartitionPlace
partition_place(Partition *partition, int64 offset, LogEnds *ends)
{
	bool		is_here;

	forget_if_undone(partition);
	is_here = partition->position != PARTITION_NOWHERE &&
		offset >= partition->offset && offset <= partition->position;
	*ends = partition->ends;
	partition->offset = offset;
	partition->told = offset;
	if (partition->state == PARTITION_PLACING && !is_here &&
		(offset < ends->first || offset > ends->end))
	{
		if (offset != partition->known)
			return PARTITION_DOUBTS;
		return offset < ends->first ? PARTITION_LACKS_MESSAGES : PARTITION_IS_BEYOND;
	}
	set_state(partition, PARTITION_READING);
	drop_below(partition, is_here ? offset : PG_INT64_MAX);
	if (is_here && !partition->is_lost)
		return PARTITION_GOES_ON;
	if (!is_here)
		partition->position = offset;
	partition->is_fetched = false;
	partition->is_lost = false;
	return PARTITION_SEEKS;
}

void
partition_fetch(Partition *partition)
{
	partition->is_fetched = true;
}

int64
partition_fail(Partition *partition)
{
	int64		result = partition->wait_us;

	set_state(partition, PARTITION_WAITING);
	partition->wait_us = Min(result * 2, WAIT_MAX_US);
	return result;
}

void
partition_forget(Partition *partition)
{
	drop_below(partition, PG_INT64_MAX);
	partition->position = PARTITION_NOWHERE;
	partition->is_fetched = false;
	partition->is_lost = false;
}

void
partition_lose(Partition *partition)
{
	if (dlist_is_empty(&partition->messages))
		partition_forget(partition);
	partition->is_fetched = false;
	partition->is_lost = partition->position != PARTITION_NOWHERE;
}

void
partition_push(Partition *partition, Message *message)
{
	if (!partition->is_fetched || message->offset < partition->position)
	{
		message_free(message);
		return;
	}
	dlist_push_tail(&partition->messages, &message->node);
	partition->bytes += memory_of(message);
	partition->position = message->offset + 1;
}

void
partition_reach(Partition *partition, int64 offset)
{
	if (partition->is_fetched)
		partition->position = Max(partition->position, offset);
}

/* Half of the suspects, or one. */
static int
run_limit(Partition *partition)
{
	int			suspects = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &partition->messages)
	{
		if (dlist_container(Message, node, iter.cur)->offset >= partition->suspect_end)
			break;
		suspects++;
	}
	return suspects == 0 ? RUN_MESSAGES_MAX : Min(Max(suspects / 2, 1), RUN_MESSAGES_MAX);
}

/* The first message is taken however long it is. */
static void
fill_run(Partition *partition, Run *run, int limit)
{
	int64		bytes = 0;
	dlist_iter	iter;

	run->n = 0;
	run->from_offset = partition->offset;
	dlist_foreach(iter, &partition->messages)
	{
		Message    *message = dlist_container(Message, node, iter.cur);

		bytes += message->size;
		if (run->n == limit || (run->n > 0 && bytes > RUN_BYTES_MAX))
			return;
		run->messages[run->n++] = message;
		run->to_offset = message->offset + 1;
	}
	run->to_offset = partition->position;
}

bool
partition_take(Partition *partition, Run *run)
{
	if (partition->state != PARTITION_READING)
		return false;
	fill_run(partition, run, run_limit(partition));
	if (run->to_offset == run->from_offset)
		return false;
	set_state(partition, PARTITION_TAKING);
	partition->taking = run->n;
	partition->taking_end = run->to_offset;
	return true;
}

void
partition_suspect(Partition *partition, Run *run)
{
	*run = (Run)
	{
		.n = 0
	};
	fill_run(partition, run, partition->taking);
	run->to_offset = partition->taking_end;
	partition->suspect_end = run->to_offset;
}

void
partition_again(Partition *partition)
{
	set_state(partition, PARTITION_READING);
}

bool
partition_is_full(const Partition *partition, bool is_paused)
{
	return partition->bytes > (is_paused ? WAITING_BYTES_MAX / 2 : WAITING_BYTES_MAX);
}

const char *
partition_trouble(const Partition *partition)
{
	return partition->trouble;
}

bool
partition_is_news(Partition *partition, const char *trouble)
{
	if (partition->trouble != NULL && strcmp(partition->trouble, trouble) == 0)
		return false;
	pfree(partition->trouble);
	partition->trouble = pstrdup(trouble);
	return true;
}

bool
partition_succeed(Partition *partition)
{
	bool		was_told = partition->trouble != NULL;

	pfree(partition->trouble);
	partition->trouble = NULL;
	partition->wait_us = WAIT_MIN_US;
	return was_told;
}
