/*-------------------------------------------------------------------------
 *
 * live.h
 *		Ends of tries after which a task stays in the live table.
 *
 *		from: finish.c		to: commit.h, on_end.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIVE_H
#define TWT_LIVE_H

#include "base/rows.h"
#include "finish/finish_call.h"
#include "finish/on_end.h"

/*
 * Changes the row of a task as the result says, which is neither done, delete
 * nor cancelled.  The row is locked.
 */
extern void live_change(const FinishCall *call, Try *try, Rows *rows, Ends *ends);

#endif							/* TWT_LIVE_H */
