/*-------------------------------------------------------------------------
 *
 * http_access.h
 *		Access to the HTTP server, judged by the headers of a request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_ACCESS_H
#define TWT_HTTP_ACCESS_H

/* Whether Authorization (NULL: none) is "Bearer" and one of the tokens. */
extern bool http_has_token(const char *authorization, char *const *tokens);

/*
 * Whether the host is an address, localhost or missing (NULL).  A web page can
 * make its own host name resolve to this machine (DNS rebinding); its browser
 * then sends us requests under that name.
 */
extern bool http_is_our_host(const char *host);

/*
 * Whether the request comes from no web page (origin NULL), or from one of our
 * own.
 */
extern bool http_is_our_origin(const char *origin, const char *host);

#endif							/* TWT_HTTP_ACCESS_H */
