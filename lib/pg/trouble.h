/*-------------------------------------------------------------------------
 *
 * trouble.h
 *		The log of failures of a connection and of its calls.
 *
 * A connection retries for ever, and its attempts or calls may fail each time.
 * The log shows the first failure, and repeats the same failure once a minute.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TROUBLE_H
#define TWT_TROUBLE_H

#include "libpq-fe.h"

typedef enum TroubleState
{
	NO_TROUBLE,
	TROUBLE_HEALS,				/* the next attempt may succeed */
	TROUBLE_NEEDS_PERSON
} TroubleState;

typedef struct Trouble
{
	const char *role;			/* the role of the connection */
	TroubleState state;			/* as logged */
	int64		told_us;
	const char *statement;		/* the failed call that was logged last */
	char		sqlstate[6];
	int64		failed_us;
} Trouble;

/*
 * The connection is down; why is a message of libpq or our own.  A message of
 * libpq may also show that only a person can help.
 */
extern void trouble_down(Trouble *trouble, int64 now_us, const char *why, TroubleState state);

/* The connection is back. */
extern void trouble_over(Trouble *trouble);

/* The server refused a statement. */
extern void trouble_failed(Trouble *trouble, int64 now_us, const char *statement,
						   const PGresult *result);

#endif							/* TWT_TROUBLE_H */
