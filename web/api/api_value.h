/*-------------------------------------------------------------------------
 *
 * api_value.h
 *		One value of a parameter, judged before the database gets it.
 *
 *		from: api_params.c
 *
 * The database judges too.  A value is judged here so that the answer can name the
 * parameter: it is 400, while a refusal of the database says less.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_VALUE_H
#define TWT_API_VALUE_H

#include "web/api/api_route.h"

/* The most bytes, and words, of a parameter that says nothing itself. */
#define API_TEXT_MAX 1000
#define API_WORDS_MAX 100
#define API_INTERVAL_MAX 100

/* Values in the order of the parameters; NULL: absent. */
typedef struct ApiValues
{
	int			n;
	char	   *values[API_PARAMS_MAX];
} ApiValues;

extern void api_values_clear(ApiValues *values);

/*
 * Judges one value, and replaces it by the text for the database where the two
 * differ.  Returns NULL, or the fault, palloc'd, as words that follow the
 * parameter's name.
 */
extern char *api_value_judge(const ApiParam *param, char **value) MUSTCHECK;

#endif							/* TWT_API_VALUE_H */
