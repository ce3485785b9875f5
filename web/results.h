/*-------------------------------------------------------------------------
 *
 * api.h
 *		What the sidecar's HTTP server serves: results, and how it is.
 *
 *		from: http.h			to: sql/run/finish_task.sql
 *
 *	 GET /health					200, or 503 while nothing would be run
 *	 POST /api/tasks/ID/finish		the result of a task that was handed on
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_H
#define TWT_API_H

#include "web/http.h"
#include "base/loop.h"
#include "config/config.h"

typedef struct Api Api;

typedef struct ApiHealth
{
	const char *trouble;		/* why nothing is run; NULL: all is well */
	int64		incarnation;
	bool		is_leader;
	int			running;
} ApiHealth;

typedef void (*ApiAsk) (void *arg, ApiHealth *health);

/* Opens a connection of its own. */
extern Api *api_open(Loop *loop, const Config *config, Http *http,
					 ApiAsk ask, void *arg);

/* Before http_close(): what is under way is answered. */
extern void api_close(Api *api);

#endif							/* TWT_API_H */
