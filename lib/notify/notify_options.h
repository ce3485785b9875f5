/*-------------------------------------------------------------------------
 *
 * notify_options.h
 *		Where incidents are sent: the section "notify" of the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NOTIFY_OPTIONS_H
#define TWT_NOTIFY_OPTIONS_H

#include "options/log_options.h"
#include "options/options.h"

typedef struct TargetConfig
{
	char	   *name;
	char	   *kind;
	char	   *url;
	char	   *url_file;
	char	   *secret_file;
	char	   *template;
	char	  **command;
} TargetConfig;

typedef struct NotifyConfig
{
	TargetConfig **targets;		/* NULL: none */
	int			ntargets;
	char	   *heartbeat;
	char	   *heartbeat_file;
	char	   *link;
	char	   *line;			/* told to twtasks-notify; NULL: nobody is */
} NotifyConfig;

/* Describes the options of a NotifyConfig. */
extern const Section notify_section;

/* Whether anything is to be sent. */
extern bool notify_is_wanted(const NotifyConfig *config);

/*
 * Returns the hello of twtasks-notify (workers/notify/notify_settings.h), palloc'd.
 * Returns NULL, after options_fail(), if the program refuses it or is missing.  A settle
 * function calls it.
 */
extern char *notify_line(const NotifyConfig *config, const char *node, const char *environment,
						 const LogConfig *log, const Place *place) MUSTCHECK;

#endif							/* TWT_NOTIFY_OPTIONS_H */
