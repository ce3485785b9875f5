/*-------------------------------------------------------------------------
 *
 * successors.h
 *		Tasks that a handler adds by its reply.
 *
 *		from: on_end.c			to: batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SUCCESSORS_H
#define TWT_SUCCESSORS_H

#include "utils/jsonb.h"

typedef struct Successors
{
	Jsonb	   *tasks;			/* as in add_tasks(jsonb) */
	Datum		context;		/* that of the task whose handler replied */
	bool		has_context;
} Successors;

/*
 * Adds them, in the name of the role that caller.h has noted.
 *
 * Errors: those of add_tasks(jsonb), 42501 if that role may not call it, and
 * 55P03 if an open transaction claims a key for longer than patience_ms (0: no
 * limit).  With a patience, the functions of policies have a time limit.
 */
extern void successors_add(const Successors *all, int n, int patience_ms);

#endif							/* TWT_SUCCESSORS_H */
