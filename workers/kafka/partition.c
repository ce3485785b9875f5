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
	int64		position;
	dlist_head	messages;		/* by offset, from offset to position */
	int64		bytes;			/* the sum of their sizes */
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
	partition->position = PARTITION_NOWHERE;
	partition->wait_us = WAIT_MIN_US;
	dlist_init(&partition->messages);
	return partition;
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
		partition->bytes -= message->size;
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
	return partition->position;
}

void
partition_look(Partition *partition)
{
	set_state(partition, PARTITION_LOOKING);
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
 * The ends are those of the last look.  They do not matter for an offset that is
 * among the messages in memory.
 */
PartitionPlace
partition_place(Partition *partition, int64 offset, LogEnds *ends)
{
	bool		is_here = partition->position != PARTITION_NOWHERE &&
		offset >= partition->offset && offset <= partition->position;

	*ends = partition->ends;
	partition->offset = offset;
	if (partition->state == PARTITION_PLACING && !is_here && offset < ends->first)
		return PARTITION_LACKS_MESSAGES;
	if (partition->state == PARTITION_PLACING && offset > ends->end && !is_here)
		return PARTITION_IS_BEYOND;
	set_state(partition, PARTITION_READING);
	drop_below(partition, is_here ? offset : PG_INT64_MAX);
	if (is_here)
		return PARTITION_GOES_ON;
	partition->position = offset;
	return PARTITION_SEEKS;
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
}

void
partition_push(Partition *partition, Message *message)
{
	if (partition->position == PARTITION_NOWHERE || message->offset < partition->position)
	{
		message_free(message);
		return;
	}
	dlist_push_tail(&partition->messages, &message->node);
	partition->bytes += message->size;
	partition->position = message->offset + 1;
}

/* A run has at least one message, however long that is. */
bool
partition_take(Partition *partition, Run *run)
{
	int64		bytes = 0;
	dlist_iter	iter;

	run->n = 0;
	run->from_offset = partition->offset;
	if (partition->state != PARTITION_READING)
		return false;
	dlist_foreach(iter, &partition->messages)
	{
		Message    *message = dlist_container(Message, node, iter.cur);

		bytes += message->size;
		if (run->n == RUN_MESSAGES_MAX || (run->n > 0 && bytes > RUN_BYTES_MAX))
			break;
		run->messages[run->n++] = message;
		run->to_offset = message->offset + 1;
	}
	if (run->n > 0)
		set_state(partition, PARTITION_TAKING);
	return run->n > 0;
}

bool
partition_is_full(const Partition *partition, bool is_paused)
{
	return partition->bytes > (is_paused ? WAITING_BYTES_MAX / 2 : WAITING_BYTES_MAX);
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

void
partition_succeed(Partition *partition)
{
	pfree(partition->trouble);
	partition->trouble = NULL;
	partition->wait_us = WAIT_MIN_US;
}
