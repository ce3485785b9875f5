/*-------------------------------------------------------------------------
 *
 * completion.h
 *		Words that may stand at the end of a command line.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_COMPLETION_H
#define TWT_COMPLETION_H

/* Prints candidates for the last word; the verbs come first. */
extern void completion_print(int nwords, char **words);

#endif							/* TWT_COMPLETION_H */
