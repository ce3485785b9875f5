/*-------------------------------------------------------------------------
 *
 * config_check.h
 *		Checks of --check-config around a file that is itself valid.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_CHECK_H
#define TWT_CONFIG_CHECK_H

#include "config/config.h"

/*
 * Writes to stderr what is wrong around the file: a missing environment, or a
 * handler whose program, function or grant is missing.  To check functions it
 * connects to the database, and waits.  If it cannot connect, it says so.
 */
extern void config_check(const Config *config, const char *path);

#endif							/* TWT_CONFIG_CHECK_H */
