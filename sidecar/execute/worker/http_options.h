/*-------------------------------------------------------------------------
 *
 * http_options.h
 *		The options of HTTP handlers: a bundled worker with settings.
 *
 * Its program judges what they hold: see config/hello.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_OPTIONS_H
#define TWT_HTTP_OPTIONS_H

#include "execute/runner.h"

/* Which addresses a host may have that a task chose. */
typedef enum Networks
{
	NETWORKS_PUBLIC,
	NETWORKS_ANY
} Networks;

typedef struct HttpConfig
{
	HandlerConfig common;
	char	   *url;
	char	  **hosts;			/* that a task may choose, or NULL */
	Networks	networks;		/* of those */
	char	   *secret_file;	/* what signs; NULL: nothing */
	char	   *headers_file;	/* more headers, or NULL */
	char	   *ca_file;		/* who is trusted; NULL: the system's */
	int64		connect_timeout_us;
} HttpConfig;

#endif							/* TWT_HTTP_OPTIONS_H */
