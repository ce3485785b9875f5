/*-------------------------------------------------------------------------
 *
 * observe_options.h
 *		The sections "metrics" and "traces" of the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OBSERVE_OPTIONS_H
#define TWT_OBSERVE_OPTIONS_H

#include "options/log_options.h"
#include "options/options.h"

/* Bounds of the figures: see metrics.h. */
typedef struct MetricsConfig
{
	int			types;			/* with figures of their own */
	int			histogram_types;	/* ... and with histograms */
} MetricsConfig;

/* See tracer.h. */
typedef struct TracesConfig
{
	char	   *url;			/* NULL: no traces */
	char	   *headers_file;	/* NULL: none */
	char	   *service;
	double		sample;			/* 0..1, of the traces that begin here */
	int			always_errors;	/* 1: tries that fail have spans in any case */
	char	   *line;			/* told to the program that sends them; NULL:
								 * no traces */
} TracesConfig;

extern const Section metrics_section;
extern const Section traces_section;

/*
 * Returns the line for "twtasks-notify traces", palloc'd, or NULL, after
 * options_fail(), if the program refuses its settings.
 */
extern char *traces_line(const TracesConfig *config, const char *node, const char *environment,
						 const LogConfig *log, const Place *place);

#endif							/* TWT_OBSERVE_OPTIONS_H */
