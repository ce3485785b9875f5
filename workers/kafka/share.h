/*-------------------------------------------------------------------------
 *
 * share.h
 *		One partition that the group gave to this listener.
 *
 *		from: listener.c			to: partition.h, log_look.h, take.h
 *
 * A share asks the brokers and the database, tells the partition what they
 * answer, and logs what a person should know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SHARE_H
#define TWT_SHARE_H

#include "base/map.h"
#include "workers/kafka/kafka.h"
#include "pg/pg.h"
#include "workers/kafka/listen_settings.h"

/* The common part of a listener's shares. */
typedef struct ShareOf
{
	Loop	   *loop;
	const ListenerSettings *settings;
	Kafka	   *kafka;
	Pg		   *pg;
	int			nlooks;			/* under way */
	dlist_head	to_look;		/* shares that wait for one of them to end */
	Map		   *problems;		/* problems that were told, by name of the
								 * share */
	bool		is_moved;		/* a share has another position, so all are to
								 * be assigned */
	bool		is_ending;		/* no new calls */
} ShareOf;

typedef struct Share
{
	dlist_node	node;
	ShareOf    *of;
	char	   *name;			/* share_name() */
	Partition  *partition;
	struct LogLook *look;		/* NULL: none is under way */
	dlist_node	look_node;
	bool		is_to_look;		/* in to_look */
	bool		is_to_reset;	/* share_reset() follows */
	LoopTimer  *timer;			/* until the next look */
	bool		is_paused;
} Share;

/* Room for the name of a share. */
#define SHARE_NAME 272

/* Writes the name of a partition; it is unique. */
extern void share_name(char *name, const char *topic, int number);

/* Begins to look for where to go on. */
extern Share *share_new(ShareOf *of, const char *topic, int number);

/* Forgets the share; a call under way may end. */
extern void share_free(Share *share);

/* Starts the looks for which there is room; belongs at the end of each turn. */
extern void shares_look(ShareOf *of);

/* Sends the next run if there is one, and pauses or resumes the fetches. */
extern void share_go_on(Share *share);

/* Looks at once if the share waits. */
extern void share_hurry(Share *share);

/* Looks anew, after the fetches failed. */
extern void share_lose_place(Share *share);

/* Looks at once, since an operator has set the offset. */
extern void share_reset(Share *share);

#endif							/* TWT_SHARE_H */
