/*-------------------------------------------------------------------------
 *
 * pages.h
 *		The page for people: files of web/ui/dist, which the program carries in itself.
 *
 *		from: web/ui (the build)			to: http.h
 *
 * The files hold no secrets, so they need no token: the page logs in, and asks the
 * management API for all that it shows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PAGES_H
#define TWT_PAGES_H

#include "web/http.h"

typedef struct Pages Pages;

extern Pages *pages_open(Http *http);

/* Call it after http_close(). */
extern void pages_close(Pages *pages);

#endif							/* TWT_PAGES_H */
