/*-------------------------------------------------------------------------
 *
 * task_result.h
 *		The results of a handler for a task, and their names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_RESULT_H
#define TWT_TASK_RESULT_H

typedef enum TaskResult
{
	TASK_DONE,					/* finished, kept in the history */
	TASK_DELETE,				/* finished, no trace kept */
	TASK_RETRY,					/* try again after a delay */
	TASK_REPEAT,				/* success; run again, tries start anew */
	TASK_ERROR,					/* given up: a human must look */
	TASK_ACCEPTED,				/* somebody calls finish later */
	TASK_CANCELLED,				/* stopped because an operator cancelled it */
	TASK_RELEASE,				/* never started; goes back unchanged */
	TASK_FAILURE				/* the retry policy decides: retry or error */
} TaskResult;

/* "done", "retry", ...: the words of the worker protocol and of finish. */
extern const char *task_result_name(TaskResult result);
extern bool task_result_parse(const char *name, TaskResult *result) MUSTCHECK;

/*
 * Also accepts "release", by which a worker gives back a task that it has not
 * begun.
 */
extern bool task_result_parse_worker(const char *name, TaskResult *result) MUSTCHECK;

#endif							/* TWT_TASK_RESULT_H */
