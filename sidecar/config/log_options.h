/*-------------------------------------------------------------------------
 *
 * log_options.h
 *		What a program writes to its log: the section "log" of its file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOG_OPTIONS_H
#define TWT_LOG_OPTIONS_H

#include "base/log.h"
#include "config/options.h"

typedef struct LogConfig
{
	LogFormat	format;
	LogLevel	level;
} LogConfig;

/* It fills a LogConfig. */
extern const Section log_section;

#endif							/* TWT_LOG_OPTIONS_H */
