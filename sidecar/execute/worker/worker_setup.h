/*-------------------------------------------------------------------------
 *
 * worker_setup.h
 *		What the processes of one worker handler share.
 *
 *		from: execute_worker.c		to: worker_process.h, conduct.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_SETUP_H
#define TWT_WORKER_SETUP_H

#include "execute/runner.h"
#include "execute/worker/crashes.h"

/* It outlives the processes.  A reload replaces config. */
typedef struct WorkerSetup
{
	Loop	   *loop;
	const HandlerConfig *config;
	const RunnerGate *gate;
	Crashes    *crashes;
	Metrics    *metrics;
	Progress   *progress;
	TaskClock  *clock;
	RunnerDone	done;
	void	   *done_arg;
} WorkerSetup;

#endif							/* TWT_WORKER_SETUP_H */
