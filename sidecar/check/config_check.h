/*-------------------------------------------------------------------------
 *
 * config_check.h
 *		What --check-config says of a file that is right.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_CHECK_H
#define TWT_CONFIG_CHECK_H

#include "config/config.h"

/*
 * Writes to stderr what is wrong around the file: no environment, a handler whose
 * program, function or grant is missing.  For functions it connects to the
 * database, and waits; when that cannot be reached, it says so.
 */
extern void config_check(const Config *config, const char *path);

#endif							/* TWT_CONFIG_CHECK_H */
