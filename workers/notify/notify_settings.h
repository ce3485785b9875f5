/*-------------------------------------------------------------------------
 *
 * notify_settings.h
 *		Where incidents are sent, as the sidecar says it.
 *
 *		from: the hello			to: notifier.c, notify_message.c
 *
 *	{"hello": 1, "node": NAME, "settings":
 *		{"environment": TEXT, "link": URL, "heartbeat": URL, "heartbeat_file": PATH,
 *		 "format": "text" or "json", "level": "info",
 *		 "targets": [{"name": NAME, "kind": KIND, "url": URL, "url_file": PATH,
 *			"secret_file": PATH, "template": PATH, "command": [PROGRAM, ...]}, ...]}}
 *
 * Secrets are read of files, so they are neither in the line nor in the environment.
 * A URL that is a secret itself comes by url_file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_SETTINGS_H
#define TWT_NOTIFY_SETTINGS_H

#include "options/log_options.h"
#include "workers/curl/http_sign.h"
#include "workers/lib/worker_fault.h"
#include "workers/notify/notify_kind.h"

typedef struct NotifyTarget
{
	char	   *name;
	const NotifyKind *kind;
	char	   *url;			/* NULL: a command */
	bool		is_url_secret;
	char	   *secret;			/* NULL: none, or it signs */
	HttpKeys   *keys;			/* NULL: not signed */
	char	   *template;		/* for open and refresh */
	char	   *later;			/* for acknowledge and resolve */
	char	  **argv;			/* a command's; NULL: a URL */
} NotifyTarget;

typedef struct NotifySettings
{
	char	   *environment;	/* "": none */
	char	   *link;			/* NULL: none */
	char	   *heartbeat;		/* URL; NULL: none */
	bool		is_heartbeat_secret;
	NotifyTarget *targets;
	int			ntargets;
	LogConfig	log;
} NotifySettings;

/* Reads the line, the secrets and the templates.  Returns NULL on failure. */
extern NotifySettings *notify_settings_new(const char *line, WorkerFault *fault) MUSTCHECK;
extern void notify_settings_free(NotifySettings *settings);

/* NULL: there is no such target. */
extern const NotifyTarget *notify_settings_target(const NotifySettings *settings, const char *name);

#endif							/* TWT_NOTIFY_SETTINGS_H */
