/*-------------------------------------------------------------------------
 *
 * words.h
 *		Lists of texts that end in NULL, such as argv, environ and options.
 *
 * An option that is not set is NULL, so NULL is an empty list here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORDS_H
#define TWT_WORDS_H

extern int	words_count(char *const *words);

/*
 * The value of a variable in a list of NAME=value, of the first one if the name is
 * there twice; NULL: no entry has the name.
 */
extern const char *words_variable(char *const *words, const char *name);

#endif							/* TWT_WORDS_H */
