/*-------------------------------------------------------------------------
 *
 * outcome.h
 *		The outcome that a handler gives to functions of on_end.
 *
 *		from: execute_tasks.c, answer.c, sql/run/set_outcome.sql
 *
 * A SQL handler sets its outcome while it runs.  A savepoint to which the handler
 * returns takes the outcome back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OUTCOME_H
#define TWT_OUTCOME_H

#include "utils/jsonb.h"

/* Raises 22023 unless the value can be an outcome. */
extern void outcome_check(Jsonb *outcome);

/* A SQL handler begins, and has no outcome. */
extern void outcome_begin(void);

/*
 * The handler has ended, also by an error.  Returns its outcome, which lasts as
 * long as the handler's subtransaction; NULL: none.
 */
extern Jsonb *outcome_end(void);

#endif							/* TWT_OUTCOME_H */
