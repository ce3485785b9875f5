/*-------------------------------------------------------------------------
 *
 * run_report.h
 *		Reports of twtasks-run to the sidecar, about the command that it supervises.
 *
 * They come through a pipe at descriptor RUN_REPORT_FD.  The first one tells
 * whether the command was started.  RUN_ENDED comes before the supervisor kills what
 * the command has left, so that the command's status counts although this takes time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RUN_REPORT_H
#define TWT_RUN_REPORT_H

#define RUN_REPORT_FD 3

typedef enum RunNews
{
	RUN_NO_NEWS,
	RUN_NOT_CREATED,			/* value: errno; also of the next four */
	RUN_NOT_PREPARED,
	RUN_NOT_SUPERVISED,			/* twtasks-run was not executed */
	RUN_NO_DIRECTORY,
	RUN_NOT_EXECUTED,
	RUN_STARTED,				/* value: process id of the command */
	RUN_ENDED,					/* value: wait status of the command */
	RUN_LEFT					/* processes that do not die of KILL */
} RunNews;

typedef struct RunReport
{
	RunNews		news;
	int			value;
} RunReport;

/* Asks twtasks-run to kill all at once; TERM asks it to pass TERM on. */
#define RUN_KILL_SIGNAL SIGUSR1

#endif							/* TWT_RUN_REPORT_H */
