/*-------------------------------------------------------------------------
 *
 * trigger_line.h
 *		The lines in which a sidecar and its helper hand triggers to each other.
 *
 *		from: sidecar/queue/forward.c, workers/kafka/triggers.c
 *
 *	 sidecar	{"send":B,"trigger":"..."}	to another node, through Kafka
 *	 sidecar	{"alive":1}					it reads its lines
 *	 helper		{"got":B,"trigger":"..."}	from another node
 *	 helper		{"back":B,"trigger":"..."}	no broker has taken it
 *	 helper		{"sweep":B}					triggers of the bucket were lost
 *	 helper		{"pass":true}				whether triggers can be sent now
 *
 * B is the place of the bucket in the list of the hello.  The text is the trigger's text
 * form (common/trigger.h), which has nothing that JSON would escape.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRIGGER_LINE_H
#define TWT_TRIGGER_LINE_H

#include "common/trigger.h"

/* Appends a line whose first member has this name; the trigger is valid. */
extern void trigger_line_add(StringInfo out, const char *word, int bucket, const Trigger *trigger);

/* False: the line has another first member, or trigger_line_add() never writes it. */
extern bool trigger_line_read(const char *line, size_t len, const char *word, int *bucket,
							  Trigger *trigger) MUSTCHECK;

#endif							/* TWT_TRIGGER_LINE_H */
