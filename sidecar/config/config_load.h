/*-------------------------------------------------------------------------
 *
 * config_load.h
 *		A file of options, read by any table of them.
 *
 * The sidecar's own table is in options.c; a program beside it has one of its
 * own, and gets the same checks and the same messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFIG_LOAD_H
#define TWT_CONFIG_LOAD_H

#include "config/config_schema.h"

/*
 * Judges options that concern each other, when each alone is right.  False, with
 * a palloc'd message in *error, when they do not go together.
 */
typedef bool (*ConfigSettle) (void *target, const RawSection *raw,
							  const ConfigSource *source, char **error);

/*
 * Fills target, which is all zero and of root's size.  False on failure, with one
 * message in *error (palloc'd).  Either way config_clear() frees what it holds.
 */
extern bool config_load(const char *path, const Section *root, void *target,
						ConfigSettle settle, char **error) MUSTCHECK;
extern void config_clear(const Section *root, void *target);

/* As config_print() and config_needs_restart(), without handlers. */
extern void config_print_options(const Section *root, const void *source,
								 StringInfo out);
extern const char *config_first_change(const Section *root, const void *from,
									   const void *to);

#endif							/* TWT_CONFIG_LOAD_H */
