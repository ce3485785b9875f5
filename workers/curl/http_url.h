/*-------------------------------------------------------------------------
 *
 * http_url.h
 *		URLs, hosts and addresses to which an HTTP handler may send.
 *
 * libcurl parses a URL once.  The request gets the parsed handle, so what was
 * checked is what is used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_URL_H
#define TWT_HTTP_URL_H

struct sockaddr;

typedef struct HttpUrl
{
	void	   *handle;			/* CURLU */
	bool		is_https;
	char	   *host;			/* lower case; an IPv6 address in brackets */
	int			port;
} HttpUrl;

/*
 * Reads an http or https URL.  Refuses user names and passwords in it, zones
 * of addresses, and hosts that are neither ASCII names nor addresses.  Returns
 * NULL on success, else the fault (not palloc'd).
 */
extern const char *http_url_parse(const char *text, HttpUrl *url) MUSTCHECK;

/* Copies without parsing again.  Returns NULL, or what went wrong. */
extern const char *http_url_copy(const HttpUrl *from, HttpUrl *to) MUSTCHECK;
extern void http_url_clear(HttpUrl *url);

/*
 * The text of the URL, palloc'd: the scheme, the header Host and the target of its
 * requests.
 */
extern char *http_url_text(const HttpUrl *url);

/* Whether the host is a name, and not an address. */
extern bool http_url_has_name(const HttpUrl *url);

/* The same scheme, host and port. */
extern bool http_url_is_same_host(const HttpUrl *a, const HttpUrl *b);

/*
 * A pattern of the option "hosts" is [http://]HOST[:PORT], where HOST may
 * begin with "*." for all names below one.  Without http:// it stands for
 * https, without a port for the usual one.  http_url_check_pattern() returns
 * its fault; NULL: none.
 */
extern const char *http_url_check_pattern(const char *pattern);
extern bool http_url_fits(const HttpUrl *url, const char *pattern);

/*
 * Whether the address is in the public Internet: it is not one of this
 * machine, a private network, a link or a group, and does not lead to such an
 * address.
 */
extern bool http_address_is_public(const struct sockaddr *address);

/* The same for an address as text; invalid text is not public. */
extern bool http_ip_is_public(const char *text);

#endif							/* TWT_HTTP_URL_H */
