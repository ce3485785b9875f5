/*-------------------------------------------------------------------------
 *
 * hello.h
 *		The first line that the sidecar sends to a worker or a helper.
 *
 *		from: config.c, listener_options.c, zookeeper_options.c, forward.c
 *		to: worker_process.c, helper.c; judged.c (hello_check)
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELLO_H
#define TWT_HELLO_H

#include <jansson.h>

#include "options/option.h"

/*
 * Returns an object with those options of target that are set.  Each option has its
 * own name; durations are in seconds, sizes in bytes.
 */
extern json_t *hello_settings(const Section *told, const void *target);

/*
 * Returns {"hello":1,"node":"...","settings":{...}}, palloc'd, without a line end.
 * The settings are given, which it takes over, with the options of target in their
 * place; NULL: the options alone.
 */
extern char *hello_make(const char *node, json_t *given, const Section *told,
						const void *target);

/* Adds a member with a number to a hello. */
extern void hello_add(char **hello, const char *name, int value);

/*
 * Starts a bundled program with "--check" as its last argument, after use if
 * that is not NULL.  Gives it hellos, one per line, and blocks until it has
 * ended, for at most 20 seconds; so the loop never calls this.  Returns its
 * answers, one line each, palloc'd.  Returns NULL, with a palloc'd reason, if
 * the program could not be run, did not end or was killed; errno is EAGAIN if
 * another try may succeed.
 */
extern char *hello_check(const char *path, const char *use, const char *hellos,
						 char **reason) MUSTCHECK;

#endif							/* TWT_HELLO_H */
