/*-------------------------------------------------------------------------
 *
 * observed.h
 *		The figures and spans of this node, and their way out.
 *
 *		from: metrics.h, served.h, node.h		to: health.h, flow.h, tracer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OBSERVED_H
#define TWT_OBSERVED_H

#include "metrics/metrics.h"
#include "node/node.h"
#include "node/progress.h"
#include "trace/tracer.h"
#include "served.h"

typedef struct Observed Observed;

extern Observed *observed_open(Loop *loop, const Config *config, Node *node, const Served *served);
extern void observed_free(Observed *observed);

extern Metrics *observed_metrics(const Observed *observed);
extern Tracer *observed_tracer(const Observed *observed);
extern Progress *observed_progress(const Observed *observed);

/* Why this node starts no tasks, as far as the database is concerned; NULL: all is well. */
extern const char *observed_trouble(Observed *observed);

/* Sends the last figures to the database.  Call it before the node ends. */
extern void observed_end(Observed *observed);

/* Writes all of /metrics; the argument is an Observed. */
extern void observed_write(void *observed, StringInfo out);

#endif							/* TWT_OBSERVED_H */
