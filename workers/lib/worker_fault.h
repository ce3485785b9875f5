/*-------------------------------------------------------------------------
 *
 * worker_fault.h
 *		Faults in the settings of a bundled worker, reported to its sidecar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_FAULT_H
#define TWT_WORKER_FAULT_H

/* Both texts are palloc'd; setting is NULL when the fault is not about one. */
typedef struct WorkerFault
{
	char	   *setting;		/* such as "hosts[2]" */
	char	   *reason;
} WorkerFault;

/* Sets the fault and takes the palloc'd reason.  Returns false. */
extern bool worker_fail(WorkerFault *fault, const char *setting, char *reason);

/* The same for an invalid value, whose beginning the reason quotes. */
extern bool worker_fail_value(WorkerFault *fault, const char *setting,
							  const char *value, const char *why);

#endif							/* TWT_WORKER_FAULT_H */
