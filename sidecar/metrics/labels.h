/*-------------------------------------------------------------------------
 *
 * labels.h
 *		Labels of Prometheus.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LABELS_H
#define TWT_LABELS_H

/* name="value", escaped; palloc'd. */
extern char *label_of(const char *name, const char *value);

/* The labels of a type: bucket and type; palloc'd. */
extern char *labels_of_type(const char *bucket, const char *type);

#endif							/* TWT_LABELS_H */
