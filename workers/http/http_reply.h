/*-------------------------------------------------------------------------
 *
 * http_reply.h
 *		What an HTTP answer means for a task.
 *
 *		from: requests.c			to: task.h (Verdict)
 *
 *	 status											result
 *	 2xx												done, or what its JSON says
 *	 408 409 425 429 503								retry
 *	 400 405 410 411 413 414 415 422 431 501			error: the request itself
 *														is at fault
 *	 any other											failure: the policy decides
 *
 * The option "statuses" of the handler comes before this table.  Retry-After
 * is honoured with every answer that leads to another try.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_REPLY_H
#define TWT_HTTP_REPLY_H

#include "base/task.h"

/*
 * The most of an answer that is read, since reading JSON holds up the loop, and of
 * the tasks that it adds, which the worker's line of 1 MB must have room for.
 */
#define HTTP_ANSWER_MAX (1024 * 1024)
#define HTTP_ADD_MAX (512 * 1024)

typedef struct HttpReply
{
	int			status;
	const char *retry_after;	/* the header; NULL: none */
	const char *coding;			/* the body's, such as gzip; NULL: none */
	const char *json;			/* the body if it is JSON, NUL at json[len];
								 * NULL: it is not */
	size_t		json_len;
	bool		is_cut;			/* longer than HTTP_ANSWER_MAX: its end is
								 * missing */
	const char *body;			/* the part that is kept: text, maybe empty */
	int64		now_us;			/* since 1970 */
} HttpReply;

/* statuses come from the handler.  The caller clears the verdict. */
extern void http_reply_judge(const HttpReply *reply, char *const *statuses, Verdict *verdict);

/*
 * Reads a Retry-After header: seconds, or an HTTP date.  The delay is at least
 * a second and at most a day.  Returns false if the header is not understood.
 */
extern bool http_retry_after(const char *text, int64 now_us, int64 *delay_us);

/* Whether a Content-Type stands for JSON. */
extern bool http_is_json(const char *content_type);

#endif							/* TWT_HTTP_REPLY_H */
