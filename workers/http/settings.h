/*-------------------------------------------------------------------------
 *
 * http_target.h
 *		Where the tasks of an HTTP handler go, and what goes with them.
 *
 * Made with the configuration, so that a file that is missing is found by
 * --check-config, and read anew by a reload.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_TARGET_H
#define TWT_HTTP_TARGET_H

#include "config/config.h"
#include "workers/http/http_sign.h"
#include "workers/http/http_url.h"

typedef struct HttpTarget
{
	HttpUrl		url;			/* the handler's own */
	HttpKeys   *keys;			/* NULL: requests are not signed */
	char	  **headers;		/* for its own host only; NULL: none */
} HttpTarget;

/*
 * Of a handler whose options have been read.  NULL on failure, with the option
 * at fault and a palloc'd reason.
 */
extern HttpTarget *http_target_new(const HandlerConfig *config,
								   const char **option,
								   char **reason) MUSTCHECK;
extern void http_target_free(HttpTarget *target);

/*
 * Where a task goes that names a URL (NULL: it names none).  NULL on success;
 * else why it goes nowhere.
 */
extern const char *http_target_choose(const HandlerConfig *config,
									  const char *named, HttpUrl *url) MUSTCHECK;

#endif							/* TWT_HTTP_TARGET_H */
