/*-------------------------------------------------------------------------
 *
 * worker_line.h
 *		Lines of workers, for tests of their protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_LINE_H
#define TWT_WORKER_LINE_H

#include "check.h"
#include "protocol/worker_protocol.h"

/* The reply of a line, which the caller clears; fails if the line is not JSON. */
static inline WorkerReply
decode(const char *line)
{
	WorkerReply reply;
	char	   *error = worker_protocol_decode(line, strlen(line), &reply);

	if (error)
		fail_msg("%s: %s", line, error);
	return reply;
}

#endif							/* TWT_WORKER_LINE_H */
