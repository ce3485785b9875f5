/*-------------------------------------------------------------------------
 *
 * late.h
 *		Results that come too late, and who hears of them.
 *
 *		from: finish.c		to: sql/run/tell_late.sql
 *
 * A worker may report a result after its task was taken over, finished or
 * changed by another.  finish_tasks() refuses that result.  But its handler may
 * have done its work, so functions of other extensions hear of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LATE_H
#define TWT_LATE_H

#include "nodes/execnodes.h"

#include "finish/finish_call.h"

/*
 * Tells functions of the call's results that were refused, which are those
 * without a row in finished.  Costs a comparison if there is none.
 */
extern void late_tell(const FinishCall *call, ReturnSetInfo *finished);

#endif							/* TWT_LATE_H */
