/*-------------------------------------------------------------------------
 *
 * settings.h
 *		The settings of an HTTP handler, as its sidecar sends them.
 *
 *		from: worker_hello.h		to: requests.h
 *
 * The settings are the options of the configuration file, under the same
 * names; docs/configuration.md explains them.  Secrets are in files, which are
 * read here, so that a reload reads them anew.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_SETTINGS_H
#define TWT_HTTP_SETTINGS_H

#include "workers/curl/http_sign.h"
#include "workers/curl/http_url.h"
#include "workers/lib/worker_fault.h"

/* Secrets of the hosts that fit a pattern, which is one of the option "hosts". */
typedef struct HttpHostKeys
{
	const char *pattern;
	HttpKeys   *keys;
} HttpHostKeys;

typedef struct HttpSettings
{
	struct json_t *json;		/* holds the texts */
	HttpUrl		url;			/* the handler's own */
	char	  **hosts;			/* hosts that a task may choose; ends in NULL */
	bool		is_public_only; /* a chosen host needs a public address */
	HttpKeys   *keys;			/* NULL: requests are not signed */
	HttpHostKeys *host_keys;	/* for hosts with secrets of their own */
	int			nhost_keys;
	char	  **headers;		/* for its own host only; NULL: none */
	const char *ca_file;		/* NULL: the system's */
	char	  **statuses;		/* meanings of statuses; ends in NULL */
	int64		connect_timeout_us;
	bool		may_resend;		/* one try may send its request again */
	size_t		max_output;
	int			concurrency;
} HttpSettings;

/* Reads the line {"hello": 1, ..., "settings": {...}}.  NULL on failure. */
extern HttpSettings *http_settings_new(const char *hello, WorkerFault *fault) MUSTCHECK;
extern void http_settings_free(HttpSettings *settings);

/*
 * Chooses the URL for a task, which may name one (NULL: it names none).
 * Returns NULL on success, else why the task cannot be sent.
 */
extern const char *http_settings_choose(const HttpSettings *settings,
										const char *named, HttpUrl *url) MUSTCHECK;

/*
 * The secrets of the host: of the pattern that fits it best, which is the host
 * itself or else the longest; otherwise the handler's secrets.  NULL: none.
 */
extern const HttpKeys *http_settings_keys(const HttpSettings *settings, const HttpUrl *url);

/* Takes the text over, and hides the secrets in it that requests carry. */
extern char *http_settings_redact(const HttpSettings *settings, char *text) MUSTCHECK;

#endif							/* TWT_HTTP_SETTINGS_H */
