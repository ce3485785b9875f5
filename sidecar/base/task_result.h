/*-------------------------------------------------------------------------
 *
 * task_result.h
 *		What a handler made of a task: the words for it.
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
	TASK_CANCELLED,				/* stopped because an operator wanted that */
	TASK_RELEASE,				/* never started: back as it was */
	TASK_FAILURE				/* the retry policy decides: retry or error */
} TaskResult;

/* "done", "retry", ...: the words of the worker protocol and of finish. */
extern const char *task_result_name(TaskResult result);
extern bool task_result_parse(const char *name, TaskResult *result) MUSTCHECK;

/* A worker may say "release" too: it has not begun the task. */
extern bool task_result_parse_worker(const char *name, TaskResult *result) MUSTCHECK;

#endif							/* TWT_TASK_RESULT_H */
