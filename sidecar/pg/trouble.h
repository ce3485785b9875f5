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

typedef struct Trouble
{
	const char *role;			/* of the connection */
	bool		is_down;		/* logged as down, and not yet as over */
	bool		needs_person;
	int64		told_us;
	const char *statement;		/* the failed call that was logged last */
	char		state[6];
	int64		failed_us;
} Trouble;

/*
 * The connection is down; why is libpq's message or ours.  With needs_person,
 * or a message that says as much, the log does not promise that it will heal.
 */
extern void trouble_down(Trouble *trouble, int64 now_us, const char *why, bool needs_person);

/* The connection is back. */
extern void trouble_over(Trouble *trouble);

/* The server refused a statement. */
extern void trouble_failed(Trouble *trouble, int64 now_us, const char *statement,
						   const PGresult *result);

#endif							/* TWT_TROUBLE_H */
