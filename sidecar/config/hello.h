/*-------------------------------------------------------------------------
 *
 * hello.h
 *		The first line that a worker's process is told.
 *
 *		from: config.c			to: worker_process.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELLO_H
#define TWT_HELLO_H

#include "config/option.h"

/*
 * {"hello":1,"node":"...","settings":{...}}, palloc'd, without a line end.  The
 * settings are the JSON object, if not NULL, and the options of told in the
 * struct, each under its own name: durations in seconds, sizes in bytes.
 */
extern char *hello_make(const char *node, const char *settings, const Section *told,
						const void *handler);

/*
 * Lets a bundled program answer hellos, one per line, by "--check", and waits for
 * it.  Returns its answers, one line for each; palloc'd.  NULL, with a palloc'd
 * reason, when it could not be run.
 */
extern char *hello_check(const char *path, const char *hellos, char **reason) MUSTCHECK;

#endif							/* TWT_HELLO_H */
