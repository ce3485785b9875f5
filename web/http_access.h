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
 * Whether the host is this machine's own name or one of the names (NULL: none),
 * which end in NULL.  A name without a port stands for all ports.
 */
extern bool http_is_listed_host(const char *host, char *const *names);

/*
 * Whether the request comes from no web page (origin NULL), or from one of our
 * own, which a proxy may serve with TLS.
 */
extern bool http_is_our_origin(const char *origin, const char *host);

#endif							/* TWT_HTTP_ACCESS_H */
