/*-------------------------------------------------------------------------
 *
 * http_post.h
 *		One POST: its content, the conditions for sending it, and its answer.
 *
 *		from: requests.c			to: http_client.h, http_headers.h
 *
 * A request goes to the handler's own URL, or to a URL that the task's context
 * names and the handler allows.  The conditions are checked at the last moment
 * before the request is sent:
 *
 *	 address	a host of the task's choice must have a public address, unless the
 *				handler allows any.  A kept connection may be older than this
 *				rule: the request then begins again, over a new connection.
 *	 time		after the lease of the node another node may have the task
 *	 once		a server may have acted on a request and closed the connection
 *				instead of an answer.  libcurl would send the request again,
 *				which only the handler can allow.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_POST_H
#define TWT_HTTP_POST_H

#include "base/output.h"
#include "base/task.h"
#include "workers/curl/http_client.h"
#include "workers/http/settings.h"

typedef enum HttpPostEnd
{
	HTTP_POST_ANSWERED,			/* the status is there, and the body in part */
	HTTP_POST_AGAIN,			/* not sent: begin again */
	HTTP_POST_LATE,				/* not sent: its time is over */
	HTTP_POST_REFUSED,			/* not sent: no address is public */
	HTTP_POST_SHORT,			/* not sent: we lack descriptors or memory */
	HTTP_POST_NOT_SENT,			/* no connection */
	HTTP_POST_NO_ANSWER			/* it may have been received */
} HttpPostEnd;

typedef struct HttpPost
{
	Loop	   *loop;
	int64		start_by_us;
	CURL	   *easy;			/* NULL: not made */
	struct curl_slist *headers;
	struct curl_slist *addresses;	/* the host's; NULL: it has no name */
	HttpUrl		url;
	char	   *key;			/* as in HttpHeaders */
	bool		is_own_host;	/* the handler's own host, not one that the
								 * task chose */
	bool		must_be_public; /* its host needs a public address */
	bool		is_fresh;		/* uses a connection of its own */
	bool		may_resend;		/* its receiver takes it more than once */
	bool		is_sent;		/* it may have been received */
	bool		is_short;		/* a socket could not be made */
	enum
	{
		ADDRESS_NONE,			/* no connection was opened for it */
		ADDRESS_REFUSED,
		ADDRESS_ALLOWED			/* at least one of them */
	}			address;
	enum
	{
		STOPPED_NOT,
		STOPPED_OLD,			/* the connection is older than the rule */
		STOPPED_LATE,
		STOPPED_TWICE,			/* it would have been sent again */
		STOPPED_LONG			/* no more of the answer is read */
	}			stopped;		/* by us */
	Output		body;			/* the end of the answer */
	StringInfoData json;		/* the answer if it is JSON; no data: none */
	size_t		received;
	size_t		header_bytes;
	char		error[CURL_ERROR_SIZE];
} HttpPost;

/*
 * Reads the task's URL and key.  Returns NULL on success, else why the task cannot be
 * sent.  The post can be cleared in either case.
 */
extern const char *http_post_init(HttpPost *post, const HttpSettings *settings,
								  const Task *task) MUSTCHECK;
extern void http_post_clear(HttpPost *post, HttpClient *client);

/* Sets the addresses of the host, before the start: numeric, separated by commas. */
extern void http_post_set_addresses(HttpPost *post, const char *addresses);

/*
 * Notes why there are no addresses.  Returns whether descriptors or memory were too few
 * to look them up.
 */
extern bool http_post_not_found(HttpPost *post, const char *error) MUSTCHECK;

/* Starts the request; the client's function gets arg.  False: out of memory. */
extern bool http_post_start(HttpPost *post, HttpClient *client,
							const HttpSettings *settings, const Task *task,
							void *arg) MUSTCHECK;

/*
 * Begins again after HTTP_POST_AGAIN; must not be called in the client's
 * function.
 */
extern void http_post_restart(HttpPost *post, HttpClient *client);

/* Returns how the request ended, given libcurl's code. */
extern HttpPostEnd http_post_end(HttpPost *post, CURLcode code);

/* Microseconds since 1970, by the real-time clock, as receivers expect. */
extern int64 http_post_now_us(void);

#endif							/* TWT_HTTP_POST_H */
