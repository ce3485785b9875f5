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

/*
 * Finds the folder of this program.  A program that cannot ends with
 * EXIT_NO_RESOURCES and a line in the log, so call it at the start, before there are
 * threads.
 */
extern void bundled_begin(void);

/* The path of the program twtasks-NAME, built in workers/NAME; palloc'd. */
extern char *bundled_path(const char *name);

#endif							/* TWT_BUNDLED_H */
