/*-------------------------------------------------------------------------
 *
 * http_options.h
 *		The options of HTTP handlers: a bundled worker with settings.
 *
 * The worker checks the values of its settings: see options/hello.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_OPTIONS_H
#define TWT_HTTP_OPTIONS_H

#include "execute/runner.h"

/* The addresses allowed for a host that a task has chosen. */
typedef enum Networks
{
	NETWORKS_PUBLIC,
	NETWORKS_ANY
} Networks;

/* The requests that may be sent again within one try. */
typedef enum Resend
{
	RESEND_NEVER,
	RESEND_UNANSWERED			/* when a kept connection closed instead of an
								 * answer */
} Resend;

typedef struct HttpConfig
{
	HandlerConfig common;
	char	   *url;
	char	  **hosts;			/* hosts that a task may choose, or NULL */
	Networks	networks;		/* addresses of these hosts */
	char	   *secret_file;	/* keys for signatures; NULL: no signature */
	char	   *secret_files;	/* paths of files with keys, by host, as a
								 * JSON object; NULL: none */
	char	   *headers_file;	/* more headers, or NULL */
	char	   *ca_file;		/* trusted certificates; NULL: the system's */
	int64		connect_timeout_us;
	Resend		resend;
} HttpConfig;

#endif							/* TWT_HTTP_OPTIONS_H */
