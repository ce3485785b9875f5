/*-------------------------------------------------------------------------
 *
 * log_options.h
 *		Options of a program's log: the section "log" of its file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOG_OPTIONS_H
#define TWT_LOG_OPTIONS_H

#include "base/log.h"
#include "options/options.h"

typedef struct LogConfig
{
	LogFormat	format;
	LogLevel	level;
} LogConfig;

/* Describes the options of a LogConfig. */
extern const Section log_section;

#endif							/* TWT_LOG_OPTIONS_H */
