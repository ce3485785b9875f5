/*-------------------------------------------------------------------------
 *
 * values.h
 *		Parameters of calls, and their results, as the model reads and writes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_VALUES_H
#define SIM_VALUES_H

#include "libpq-fe.h"

#include "server.h"

#define ELEMENTS_MOST 1000

typedef struct Elements
{
	int			n;
	const char *values[ELEMENTS_MOST];	/* NULL: null */
	int			lens[ELEMENTS_MOST];
} Elements;

extern int64 param_int(const ServerCall *call, int param);
extern bool param_bool(const ServerCall *call, int param);
extern bool param_is_null(const ServerCall *call, int param);
extern bool param_is_text(const ServerCall *call, int param, const char *text);
extern void param_array(const ServerCall *call, int param, Elements *elements);

/* An array of one element stands for one that has it in each place. */
extern const char *element(const Elements *elements, int i, int *len);
extern int64 element_int(const Elements *elements, int i);
extern bool element_is_text(const Elements *elements, int i, const char *text);
extern bool elements_have_text(const Elements *elements, const char *text);

/* Columns without a value are null. */
extern PGresult *result_new(int columns);
extern void result_int(PGresult *result, int row, int column, int64 value);
extern void result_bool(PGresult *result, int row, int column, bool value);
extern void result_text(PGresult *result, int row, int column, const char *value);
extern void result_bytes(PGresult *result, int row, int column, const void *value, int len);
extern void result_time(PGresult *result, int row, int column, int64 unix_us);
extern void result_null(PGresult *result, int row, int column);

/* An array of n values of the same length; WIRE_TEXT: of NUL-terminated texts. */
extern void result_array(PGresult *result, int column, int type, const Elements *elements);

#endif							/* SIM_VALUES_H */
