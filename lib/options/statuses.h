/*-------------------------------------------------------------------------
 *
 * statuses.h
 *		What a status means for a task: the option "statuses" of a handler.
 *
 * A status is the exit status of a command or the status of an HTTP answer.
 * Each word of the option is "STATUS=RESULT", such as "80=repeat".  A word for
 * HTTP may name a class of statuses, such as "4xx=error".
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STATUSES_H
#define TWT_STATUSES_H

#include "base/task.h"

/* Returns the fault of a word; NULL if there is none. */
extern const char *statuses_check(const char *word);

/*
 * Returns the fault of a list of words; NULL if there is none.  The list may
 * be NULL, and its statuses must be from min to max.
 */
extern const char *statuses_check_all(char *const *words, int min, int max);

/* Returns false if no word is about the status. */
extern bool statuses_find(char *const *words, int status, TaskResult *result);

#endif							/* TWT_STATUSES_H */
