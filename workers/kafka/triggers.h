/*-------------------------------------------------------------------------
 *
 * triggers.h
 *		twtasks-kafka triggers: hands triggers to other nodes, and takes theirs.
 *
 *		from: sidecar/queue/forward.c		to: trigger_send.h, trigger_read.h
 *
 * A sidecar that stands still would keep its partitions from other nodes: if no line
 * comes for a while, the process leaves the group and ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRIGGERS_H
#define TWT_TRIGGERS_H

/* The arguments begin with "triggers".  Returns the exit status. */
extern int	triggers_main(int argc, char **argv);

#endif							/* TWT_TRIGGERS_H */
