/*-------------------------------------------------------------------------
 *
 * trace_settings.h
 *		Where spans go, as the sidecar says it.
 *
 *		from: the hello			to: trace_export.c
 *
 *	{"hello": 1, "node": NAME, "settings":
 *		{"url": URL, "headers_file": PATH, "service": NAME, "environment": TEXT,
 *		 "format": "text" or "json", "level": "info"}}
 *
 * Headers may be secrets, so they are read of a file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACE_SETTINGS_H
#define TWT_TRACE_SETTINGS_H

#include "options/log_options.h"
#include "workers/lib/worker_fault.h"

typedef struct TraceSettings
{
	char	   *url;
	char	  **headers;		/* NULL: none; else NAME: VALUE, up to a NULL */
	char	   *service;
	char	   *environment;	/* NULL: none */
	char	   *node;
	LogConfig	log;
} TraceSettings;

/* Reads the line and the headers.  Returns NULL on failure. */
extern TraceSettings *trace_settings_new(const char *line, WorkerFault *fault) MUSTCHECK;
extern void trace_settings_free(TraceSettings *settings);

#endif							/* TWT_TRACE_SETTINGS_H */
