/*-------------------------------------------------------------------------
 *
 * traces.h
 *		twtasks-notify traces: spans of tries, for OpenTelemetry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACES_H
#define TWT_TRACES_H

/* The program, with "traces" as its name.  Returns the exit status. */
extern int	traces_main(int argc, char **argv);

#endif							/* TWT_TRACES_H */
