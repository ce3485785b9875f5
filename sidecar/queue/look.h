/*-------------------------------------------------------------------------
 *
 * look.h
 *		One look at the rows of a bucket.
 *
 *		from: sql/queue/sweep_tasks.sql			to: table.h (table_push)
 *
 * Private to sweep.c, which decides when and how to look.
 *
 * A look takes a limited number of rows of each type.  If a type has more, the
 * table marks it as spilled, and its cursor says where the next look
 * continues.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOOK_H
#define TWT_LOOK_H

#include "table/names.h"
#include "node/node.h"
#include "node/policies.h"
#include "queue/cursors.h"
#include "table/table.h"

typedef enum LookDepth
{
	LOOK_NONE,
	LOOK_ROUTINE,				/* a few rows of each type */
	LOOK_DEEP					/* as many rows of each type as the table
								 * takes */
} LookDepth;

typedef enum LookPart
{
	LOOK_OWN,					/* this node's share of the rows */
	LOOK_WHOLE,
	LOOK_HELP					/* all rows, since its own share is done */
} LookPart;

typedef enum LookStart
{
	LOOK_ON,					/* continue at the cursors */
	LOOK_FROM_HEAD
} LookStart;

/* In each field, a greater value covers the smaller ones. */
typedef struct LookKind
{
	LookDepth	depth;
	LookPart	part;
	LookStart	start;
	int			room;			/* with LOOK_ON: most rows of each type */
} LookKind;

typedef struct LookEnd
{
	PgOutcome	outcome;
	LookKind	kind;
	int			added;			/* tasks that were new to the table */
	bool		is_cut;			/* there may be more rows than it saw */
	int64		took_us;
} LookEnd;

typedef struct Look
{
	Loop	   *loop;
	Node	   *node;
	Policies   *policies;
	Table	   *table;
	int			bucket;			/* number of the bucket in the configuration */
	void		(*on_end) (void *arg, const LookEnd *end);
	void	   *arg;
	LookKind	kind;			/* the current look; LOOK_NONE: none */
	int			per_type;		/* most rows of each type in the current look */
	int64		sent_us;
	int64		head_us;		/* when the last deep look began at the head */
	uint64		turned_away;	/* by the table, until then */
	Names	   *refused;		/* types that this node leaves to others */
	Names	   *skipped;		/* skipped by the current look: refused and
								 * full types */
	Cursors    *cursors;
} Look;

/*
 * Sets the other members.  The caller has set loop, node, policies, table,
 * bucket, on_end and arg.
 */
extern void look_init(Look *look);
extern void look_clear(Look *look);

/* Whether a look with LOOK_ON has cursors to continue from. */
extern bool look_can_go_on(const Look *look);

/* Sends the look.  The control connection must be up. */
extern void look_send(Look *look, const char *bucket, LookKind kind);

#endif							/* TWT_LOOK_H */
