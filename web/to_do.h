/*-------------------------------------------------------------------------
 *
 * to_do.h
 *		To-do items of the extension twtasks_kinds, read and answered by HTTP.
 *
 *		from: http.h
 *
 *	 GET /api/to-do/NAME				the open items, oldest first
 *	 GET /api/to-do/NAME/IDENTIFIER		one open item
 *	 POST /api/to-do/NAME/IDENTIFIER	its answer
 *	 POST /api/to-do/NAME				an answer whose data has the identifier
 *
 * The database decides who may do that.  Each token belongs to a role, and a
 * call takes on that role in its own transaction, so the end of the transaction
 * takes the role away.  Each role has sessions of its own, and so have the results:
 * functions of users, which a call runs, hold up no other role and no results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TO_DO_H
#define TWT_TO_DO_H

#include "base/loop.h"
#include "web/http.h"
#include "web/web_config.h"

typedef struct ToDo ToDo;

/*
 * Connects to the database when there is a request.  The caller keeps the
 * configuration until to_do_set_config() or to_do_close().
 */
extern ToDo *to_do_open(Loop *loop, const WebConfig *config, Http *http);
extern void to_do_set_config(ToDo *to_do, const WebConfig *config);

/* Why requests of a role get no answer now; NULL: all do. */
extern const char *to_do_trouble(const ToDo *to_do);

/* Call it before http_close().  It answers requests that are under way. */
extern void to_do_close(ToDo *to_do);

#endif							/* TWT_TO_DO_H */
