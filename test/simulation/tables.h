/*-------------------------------------------------------------------------
 *
 * tables.h
 *		The tables of the model: rows of tasks, nodes, triggers.
 *
 * Private to the model.  Each change of a row is one transaction, or part of one.  A
 * crash may undo a transaction that need not be durable, with all that came after it and
 * was not durable either.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_TABLES_H
#define SIM_TABLES_H

#include "model.h"

typedef struct NodeRow
{
	int64		incarnation;
	int64		heartbeat_us;	/* by the database's clock, as all of these */
	int64		lease_us;
	int64		next_tick_us;
	int64		missing_us;		/* without a session since then; -1: it has
								 * one */
	int64		silent_us;		/* silent since then; -1: it is not */
	int64		boot_us;		/* when the machine was started, by the clock
								 * of that time */
	bool		has_ended;
	int64		ended_us;
	bool		has_orphan;		/* a task, in the take-over under way */
	bool		is_forgotten;	/* its row is gone */
	bool		leads;
} NodeRow;

/* ---- tasks ---- */

extern Row *tables_row(int number);

/* Another row, with an id of its own. */
extern Row *tables_new_row(void);

/* Call it before each change of a row. */
extern void tables_touch(Row *row);
extern void tables_commit(bool durable);

/* Moves the row to another status, as another version. */
extern void tables_move(Row *row, Status status, int64 incarnation, int64 token);

/* The rows of a grab that are still grabbed by it, as another grab has them. */
extern PGresult *tasks_still_grabbed(const ServerCall *call);

/* ---- SQL handlers ---- */

/* How long the call of functions takes. */
extern int64 functions_us(const ServerCall *call);

/* NULL: state is the SQLSTATE of its failure. */
extern PGresult *functions_execute(const ServerCall *call, int64 took_us, const char **state);

/* ---- triggers ---- */

/* Tells a sidecar that the task can run; due_us: a WAITING task, at that time; -1: now. */
extern void tables_trigger(const Row *row, int64 due_us);

/* Fills the answer of next_triggers.  False: there is nothing to tell. */
extern bool tables_take_triggers(Session *session, PGresult *result);

/* ---- nodes ---- */

extern NodeRow *nodes_find(int64 incarnation);	/* NULL: there is none */
extern bool nodes_live(int64 incarnation);

/* Whether it has a row, if only since it ended not long ago. */
extern bool nodes_is_known(int64 incarnation);

extern bool nodes_may_grab(int64 incarnation);
extern PGresult *nodes_start(Session *session, const ServerCall *call);
extern PGresult *nodes_tick(Session *session, const ServerCall *call);
extern PGresult *nodes_end(const ServerCall *call);

/* Declares nodes gone.  Returns the milliseconds until the next look; -1: no reason. */
extern int64 nodes_find_gone(void);

/* The end of a take-over: rows of nodes go that ended long ago and have no task. */
extern void nodes_forget(void);

extern void nodes_begin(void);

/* ---- policies ---- */

extern void policies_begin(void);
extern PGresult *policies_read_all(void);

/* ---- limits ---- */

extern void limits_begin(void);
extern PGresult *limits_read(void);
extern PGresult *limits_offer(const ServerCall *call);

/* Whether a limit of the cluster has the type: its grabs are durable. */
extern bool limits_cover(int type);

/* The name of a limit that refuses a task of the type; again_ms: 0, or when to ask again. */
extern const char *limits_refuse(int type, int64 incarnation, int64 *again_ms);

/* A task of the type has been grabbed: rates count it. */
extern void limits_take(int type);

/* Whether the limit counts tasks of the whole cluster. */
extern bool limits_is_shared(int limit);

/* Whether another node than this one waits for the limit. */
extern bool limits_have_line(int limit, int64 incarnation);

/* Whether tasks of this node have all slots of the limit. */
extern bool limits_are_all_used_by(int limit, int64 incarnation);

/* The node has freed a slot of each limit of the cluster that covers the type, or asks for one. */
extern void limits_note_free(int type, int64 incarnation);
extern void limits_note_ask(int type, int64 incarnation);

/* Tasks of each type have left their slots, and their node has not ended them. */
extern void limits_offer_types(const int *freed);

/* ---- locks ---- */

extern void locks_begin(void);

/* A transaction of a user holds the row, or a statement that waits for another one. */
extern bool locks_hold(const Row *row);

/* By the world's clock; 0: nobody has locked it yet. */
extern int64 locks_end_us(const Row *row);

/* A row of this grab is locked now.  True: its session ends when it has committed. */
extern bool locks_ambush(const ServerCall *call);

/* How long the statement waits for a row now; -1: it has waited for as long as it may. */
extern int64 locks_wait(ServerCall *call);

/* ---- schedules ---- */

extern void schedules_begin(void);
extern PGresult *schedules_run(void);

/* When the next one is due, by the database's clock; -1: never. */
extern int64 schedules_next_us(void);

/* ---- tasks.c ---- */

extern PGresult *tasks_grab(const ServerCall *call);
extern PGresult *tasks_resolve_grab(const ServerCall *call);
extern PGresult *tasks_finish(const ServerCall *call);

/* The row that the call locks in its i-th place; ends: for the results done and delete. */
extern const Row *tasks_to_finish(const ServerCall *call, int i, bool ends);
extern const Row *tasks_to_fence(const ServerCall *call, int i);
extern PGresult *tasks_resolve_finish(const ServerCall *call);
extern PGresult *tasks_promote(void);
extern PGresult *tasks_expire(void);
extern PGresult *tasks_recover(const ServerCall *call);
extern PGresult *tasks_take_cancels(const ServerCall *call);

/* Where the row lies, as a grab and a look tell it. */
extern void tasks_put_place(PGresult *result, int row, int column, const Row *task);

/* ---- sweeps.c ---- */

extern PGresult *tasks_sweep(const ServerCall *call);

/* ---- people.c ---- */

/* A person wants it to end as CANCELLED, and a sidecar may have to see to it. */
extern bool tables_is_to_cancel(const Row *row);

/* Whether a person has paused it. */
extern bool model_is_paused(const Row *row);

#endif							/* SIM_TABLES_H */
