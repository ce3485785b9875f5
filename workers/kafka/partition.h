/*-------------------------------------------------------------------------
 *
 * partition.h
 *		The messages of one partition, on their way into the database.
 *
 *		from: message.h			to: listener.c
 *
 * The offset in the database counts.  A partition is read from there, and at
 * most one call is under way for it, whose run of messages begins there.
 * Offsets have gaps, so a run ends one after its last message.  A run without
 * messages passes the marks that transactions leave behind.
 *
 *	 state		what ends it
 *	 LOOKING	the brokers tell where the log begins and ends
 *	 PLACING	the database tells where the listener stands
 *	 READING	the next run is sent
 *	 TAKING		the database tells where the listener stands now
 *	 WAITING	the time after a failure; LOOKING follows
 *
 * After any doubt, such as a lost answer, the partition looks and is placed
 * anew.  Messages in memory stay if they continue from there.
 *
 * A run that the database refuses may have one message at fault.  Halving the runs
 * stores its neighbours and finds it in a few calls.
 *
 * Nothing here waits, looks at the clock or logs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PARTITION_H
#define TWT_PARTITION_H

#include "workers/kafka/message.h"

/* The limits of a run. */
#define RUN_MESSAGES_MAX 500
#define RUN_BYTES_MAX (4 * 1024 * 1024)

/* Bytes in memory above which no more are fetched, until half of them is left. */
#define WAITING_BYTES_MAX (10 * 1024 * 1024)

/* The position of a partition that is not placed yet. */
#define PARTITION_NOWHERE (-1)

/* The length of a topic's id, in hexadecimal. */
#define TOPIC_ID_MAX 32

typedef enum PartitionState
{
	PARTITION_LOOKING,
	PARTITION_PLACING,
	PARTITION_READING,
	PARTITION_TAKING,
	PARTITION_WAITING
} PartitionState;

typedef enum PartitionStart
{
	PARTITION_LATEST,
	PARTITION_EARLIEST,
	PARTITION_YOUNG				/* the first message of a given age */
} PartitionStart;

/* The log of a partition, as the brokers have it. */
typedef struct LogEnds
{
	int64		first;
	int64		end;			/* one after the last message */
	int64		young;			/* the first message of the given age; below
								 * 0: none is so young */
	int			partitions;		/* how many the topic has */
	char		topic_id[TOPIC_ID_MAX + 1]; /* "": not known */
} LogEnds;

typedef enum PartitionPlace
{
	PARTITION_GOES_ON,			/* with the messages in memory, if any */
	PARTITION_SEEKS,			/* at the new position; partition_fetch()
								 * follows */
	PARTITION_LACKS_MESSAGES,	/* the log begins later */
	PARTITION_IS_BEYOND,		/* the log ends earlier */
	PARTITION_DOUBTS			/* the look was before somebody moved the
								 * offset: look again */
} PartitionPlace;

typedef struct Run
{
	int64		from_offset;
	int64		to_offset;
	int			n;				/* may be 0 */
	Message    *messages[RUN_MESSAGES_MAX];
} Run;

typedef struct Partition Partition;

extern Partition *partition_new(const char *topic, int number);
extern void partition_free(Partition *partition);

extern const char *partition_topic(const Partition *partition);
extern int	partition_number(const Partition *partition);
extern PartitionState partition_state(const Partition *partition);

/* The offset in the database, as far as known. */
extern int64 partition_offset(const Partition *partition);

/* The next message to fetch; PARTITION_NOWHERE, also while its fetches are lost. */
extern int64 partition_position(const Partition *partition);

/* WAITING -> LOOKING */
extern void partition_look(Partition *partition);

/*
 * LOOKING -> PLACING.  Returns where a listener that never moved begins: a
 * duration for which no message is young enough begins at the end.
 */
extern int64 partition_found(Partition *partition, const LogEnds *ends, PartitionStart start);

/*
 * Takes the offset that the database told; PLACING or TAKING -> READING.  The
 * state stays PLACING if the log does not have the offset, and *ends says what
 * it has.  Only a look that began when the offset was known can tell so: another
 * owner may have read further since.  The messages that are not below the offset stay, if it is among
 * theirs.
 */
extern PartitionPlace partition_place(Partition *partition, int64 offset, LogEnds *ends) MUSTCHECK;

/*
 * The fetches begin at the position.  Messages that come between a new position
 * and this call were fetched for an older one: they would hide a gap.
 */
extern void partition_fetch(Partition *partition);

/* Any state -> WAITING.  Returns the time to wait, longer for each failure. */
extern int64 partition_fail(Partition *partition);

/* Forgets the messages in memory: they must be fetched anew. */
extern void partition_forget(Partition *partition);

/*
 * The fetches failed.  Messages in memory stay, since the log may have deleted them;
 * the next ones are fetched when the partition is placed anew.  They go if the log
 * turns out to end before them.
 */
extern void partition_lose(Partition *partition);

/* Takes the message, or frees it if it is not one that we wait for. */
extern void partition_push(Partition *partition, Message *message);

/* Learns that no message is left before the offset. */
extern void partition_reach(Partition *partition, int64 offset);

/*
 * READING -> TAKING, with the next run, whose messages stay the partition's.
 * Returns false if there is none.
 */
extern bool partition_take(Partition *partition, Run *run) MUSTCHECK;

/*
 * TAKING: the call failed, and nothing of its run is stored.  The next runs have half
 * of the suspects each, until the messages of the failed run are taken or one of
 * them is alone.  *run is the failed one.
 */
extern void partition_suspect(Partition *partition, Run *run);

/* TAKING -> READING: the next run follows at once. */
extern void partition_again(Partition *partition);

/* Whether fetching should pause. */
extern bool partition_is_full(const Partition *partition, bool is_paused);

/* The trouble that was told last; NULL: it is over. */
extern const char *partition_trouble(const Partition *partition);

/* Whether this trouble is another one than before. */
extern bool partition_is_news(Partition *partition, const char *trouble);

/*
 * Ends the trouble: the next failure is news, and waits briefly.  Returns whether
 * any was told.
 */
extern bool partition_succeed(Partition *partition);

#endif							/* TWT_PARTITION_H */
