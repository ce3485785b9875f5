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

#include "add/batch.h"

typedef struct Successors
{
	Jsonb	   *tasks;			/* as in add_tasks(jsonb) */
	Datum		context;		/* the context of the task whose handler
								 * replied */
	bool		has_context;
} Successors;

/*
 * Checks them, in the name of the role that caller.h has noted.  With a patience
 * the functions of policies have a time limit.
 *
 * Errors: as add_tasks(jsonb), and 42501 if that role may not call it
 */
extern Batch *successors_check(const Successors *all, int n, int patience_ms);

/*
 * Stores what was checked.
 *
 * Errors: 55P03 if an open transaction claims a key for longer than patience_ms
 * (0: no limit)
 */
extern void successors_store(Batch *batch);

#endif							/* TWT_SUCCESSORS_H */
