/*-------------------------------------------------------------------------
 *
 * call.h
 *		Arguments and results of our SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CALL_H
#define TWT_CALL_H

#include "access/htup.h"
#include "fmgr.h"

/*
 * Raises 25001 unless the procedure may commit: CALL stands alone, not in a
 * transaction block.
 */
extern void require_own_statement(FunctionCallInfo fcinfo, const char *procedure);

/* Raises 22004 if the argument is null. */
extern void require_argument(FunctionCallInfo fcinfo, int number, const char *name);

/*
 * Returns an integer argument; raises 22004 if it is null, 22023 if out of
 * range.
 */
extern int	int_argument(FunctionCallInfo fcinfo, int number, const char *name, int min, int max);

/* The row of a function in the catalog, for ReleaseSysCache(). */
extern HeapTuple fetch_function(Oid function);

/* Forms the result of a function that returns one row. */
extern Datum result_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/* Adds a row to the result of a set-returning function; see InitMaterializedSRF(). */
extern void result_put(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/* The value of that type as text, for results of any type. */
extern Datum text_of(Oid type, Datum value);

#endif							/* TWT_CALL_H */
