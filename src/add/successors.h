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
 * Errors: those of add_tasks(jsonb), and 42501 if that role may not call it
 */
extern void successors_add(const Successors *all, int n);

#endif							/* TWT_SUCCESSORS_H */
