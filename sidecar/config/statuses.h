/*-------------------------------------------------------------------------
 *
 * statuses.h
 *		What a status means for a task: the option "statuses" of a handler.
 *
 * A status is the exit status of a command or the status of an HTTP answer.
 * Each word of the option is "STATUS=RESULT", such as "80=repeat", or, for
 * HTTP, of a class of statuses, such as "4xx=error".
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STATUSES_H
#define TWT_STATUSES_H

#include "base/task.h"

/* The fault of a word; NULL: none. */
extern const char *statuses_check(const char *word);

/*
 * The fault of a list of words, which may be NULL and whose statuses must be from
 * min to max; NULL: none.
 */
extern const char *statuses_check_all(char *const *words, int min, int max);

/* False: the words say nothing about the status. */
extern bool statuses_find(char *const *words, int status, TaskResult *result);

#endif							/* TWT_STATUSES_H */
