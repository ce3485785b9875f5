/*-------------------------------------------------------------------------
 *
 * trouble.h
 *		What the log says about failures of a connection and of its calls.
 *
 * A connection tries again and again, and a call may fail each time.  The log
 * shows the first failure, and repeats the same failure once a minute.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TROUBLE_H
#define TWT_TROUBLE_H

#include "libpq-fe.h"

typedef enum TroubleState
{
	TROUBLE_NONE,
	TROUBLE_HEALS,				/* by itself: we connect again */
	TROUBLE_NEEDS_PERSON
} TroubleState;

typedef struct Trouble
{
	const char *role;			/* the connection's */
	TroubleState state;			/* as logged */
	int64		told_us;
	const char *statement;		/* the failed call that was logged last */
	char		sqlstate[6];
	int64		failed_us;
} Trouble;

/*
 * The connection is down; why is libpq's message or ours.  libpq's message may
 * also say that only a person can help.
 */
extern void trouble_down(Trouble *trouble, int64 now_us, const char *why, TroubleState state);

/* The connection is back. */
extern void trouble_over(Trouble *trouble);

/* The server refused a statement. */
extern void trouble_failed(Trouble *trouble, int64 now_us, const char *statement,
						   const PGresult *result);

#endif							/* TWT_TROUBLE_H */
