/*-------------------------------------------------------------------------
 *
 * twtasks.h
 *		The words of the extension, and what its modules share.
 *
 *		task		a row: something to be done once its transaction commits
 *		trigger		"version V of task I may run": a hint, never a promise
 *		queue		where triggers wait for a sidecar: one ring per bucket
 *		bucket		a shard of the work
 *		sidecar		twtasksd, or any program that grabs tasks
 *		incarnation	one start of a sidecar
 *
 * Seven words name the steps of a task's life, and each is a folder on the
 * side where the step happens: add, commit, queue (here), table, grab,
 * execute, finish (sidecar; the extension's part of these has the same folder
 * here).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TWTASKS_H
#define TWT_TWTASKS_H

#include "postgres.h"

#include "base/compat.h"
#include "common/trigger.h"

#endif							/* TWT_TWTASKS_H */
