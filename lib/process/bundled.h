/*-------------------------------------------------------------------------
 *
 * bundled.h
 *		Programs that are installed with ours.
 *
 *		from: helper.c, supervisor.c, programs.c, execute_bundled.c, config.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BUNDLED_H
#define TWT_BUNDLED_H

/* The path of the program twtasks-NAME, built in workers/NAME; palloc'd. */
extern char *bundled_path(const char *name);

#endif							/* TWT_BUNDLED_H */
