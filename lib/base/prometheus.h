/*-------------------------------------------------------------------------
 *
 * prometheus.h
 *		Histograms of times, and the text format 0.0.4 of Prometheus.
 *
 * A metric begins with its help and type; its samples follow.  All names begin with
 * "twtasks_".
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PROMETHEUS_H
#define TWT_PROMETHEUS_H

#define PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Upper bounds of a histogram; times above the last one have a bucket, too. */
#define HISTOGRAM_BOUNDS 20
#define HISTOGRAM_BUCKETS (HISTOGRAM_BOUNDS + 1)

typedef struct Histogram
{
	int64		sum_us;
	int64		counts[HISTOGRAM_BUCKETS];
} Histogram;

/* Adds a time; a negative one counts as 0.  Costs a few nanoseconds. */
extern void histogram_add(Histogram *histogram, int64 us);

extern int64 histogram_bound_us(int i);
extern bool histogram_is_empty(const Histogram *histogram);

/* name="value", escaped; palloc'd. */
extern char *prometheus_label(const char *name, const char *value);

/* The same for two labels. */
extern char *prometheus_labels(const char *name, const char *value,
							   const char *other_name, const char *other_value);

/* kind is "counter", "gauge" or "histogram"; names are without "twtasks_". */
extern void prometheus_begin(StringInfo out, const char *name, const char *kind, const char *help);

/* labels: as made above; NULL: none. */
extern void prometheus_sample(StringInfo out, const char *name, const char *labels, int64 value);

/* A value of seconds, given in microseconds. */
extern void prometheus_seconds(StringInfo out, const char *name, const char *labels, int64 us);

extern void prometheus_histogram(StringInfo out, const char *name, const char *labels,
								 const Histogram *histogram);

#endif							/* TWT_PROMETHEUS_H */
