/*-------------------------------------------------------------------------
 *
 * payload_verb.h
 *		Verbs that read what a task carries, and carry a task elsewhere.
 *
 * Each read is in twtasks.payload_read before anything is shown.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PAYLOAD_VERB_H
#define TWT_PAYLOAD_VERB_H

#include "tools/ctl.h"

extern int	payload_run(Ctl *ctl);
extern int	export_run(Ctl *ctl);

/* Adds the task that export_run() wrote, from standard input; it is held. */
extern int	import_run(Ctl *ctl);

#endif							/* TWT_PAYLOAD_VERB_H */
