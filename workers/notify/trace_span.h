/*-------------------------------------------------------------------------
 *
 * trace_span.h
 *		A try as a span of OTLP, in JSON.
 *
 *		from: trace_export.c, sidecar/trace/span.c
 *
 * The sidecar says
 *	{"trace":HEX,"span":HEX,"wait":HEX,"parent":HEX or "","link":"TRACE-SPAN" or "","task":ID,"try":N,
 *	 "waited":US or -1,"start":US,"end":US,"result":WORD,"failed":BOOLEAN,"type":TYPE}
 *
 * In JSON, OTLP has ids as hexadecimal text, enums as numbers, and 64 bits as text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACE_SPAN_H
#define TWT_TRACE_SPAN_H

#include "workers/notify/trace_settings.h"

/*
 * Returns the spans of the line with a comma between them, palloc'd: the try, and its wait if
 * that is known.  NULL: the line is no try.
 */
extern char *trace_span_make(const char *line, size_t len) MUSTCHECK;

/*
 * A request is the head, palloc'd, spans with commas between them, and the tail.
 */
extern char *trace_span_head(const TraceSettings *settings);
#define TRACE_SPAN_TAIL "]}]}]}"

#endif							/* TWT_TRACE_SPAN_H */
