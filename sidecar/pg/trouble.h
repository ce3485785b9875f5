/*-------------------------------------------------------------------------
 *
 * trouble.h
 *		What the log says about a connection that fails, or whose calls do.
 *
 * A connection tries again and again, and a call may fail each time.  The log
 * tells the first failure, and the same one once a minute after that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TROUBLE_H
#define TWT_TROUBLE_H

#include "libpq-fe.h"

typedef struct Trouble
{
	const char *role;			/* of the connection */
	bool		is_down;		/* told, and not yet that it is over */
	bool		needs_person;
	int64		told_us;
	const char *statement;		/* the failure of a call that was told last */
	char		state[6];
	int64		failed_us;
} Trouble;

/*
 * There is no connection; why is libpq's message or ours.  With needs_person,
 * or a message that says as much, the log does not promise that it will heal.
 */
extern void trouble_down(Trouble *trouble, int64 now_us, const char *why, bool needs_person);

/* There is one again. */
extern void trouble_over(Trouble *trouble);

/* The server refused a statement. */
extern void trouble_failed(Trouble *trouble, int64 now_us, const char *statement,
						   const PGresult *result);

#endif							/* TWT_TROUBLE_H */
