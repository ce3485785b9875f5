/*-------------------------------------------------------------------------
 *
 * wire.h
 *		Parameters and results in PostgreSQL's binary format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WIRE_H
#define TWT_WIRE_H

#include "libpq-fe.h"

#include "base/row_place.h"

#define WIRE_MAX_PARAMS 18

/* Types of elements, by their fixed numbers in pg_type.dat. */
typedef enum WireType
{
	WIRE_BYTEA = 17,
	WIRE_INT8 = 20,
	WIRE_TEXT = 25,
	WIRE_TID = 27,
	WIRE_UUID = 2950
} WireType;

/* The parameters of one call; begin with wire_init(). */
typedef struct WireParams
{
	int			n;
	bool		nulls[WIRE_MAX_PARAMS];
	StringInfoData values[WIRE_MAX_PARAMS];
} WireParams;

extern void wire_init(WireParams *params);
extern void wire_clear(WireParams *params);

/* Each function adds the next parameter. */
extern void wire_add_int8(WireParams *params, int64 value);
extern void wire_add_int4(WireParams *params, int32 value);
extern void wire_add_bool(WireParams *params, bool value);
extern void wire_add_text(WireParams *params, const char *value);	/* NULL: null */

/*
 * Begins an array of n elements as the next parameter; exactly n of the
 * element functions must follow.  An enum array is sent as text[].
 */
extern void wire_add_array(WireParams *params, WireType type, int n);
extern void wire_uuid(WireParams *params, const uint8 *id);
extern void wire_int8(WireParams *params, int64 value);
extern void wire_place(WireParams *params, const RowPlace *place);
extern void wire_text(WireParams *params, const char *value);	/* NULL: null */
extern void wire_bytes(WireParams *params, const char *value, int len); /* NULL: null */
extern void wire_null_element(WireParams *params);

/* Values of a result; the caller knows the type of the column. */
extern int64 wire_get_int(const PGresult *result, int row, int column); /* any size */
extern bool wire_get_bool(const PGresult *result, int row, int column);
extern const uint8 *wire_get_uuid(const PGresult *result, int row, int column);

/* All zeros when null. */
extern RowPlace wire_get_place(const PGresult *result, int row, int column);

/* A timestamptz, as microseconds since 1970. */
extern int64 wire_get_time(const PGresult *result, int row, int column);

/* A jsonb, as text; NUL-terminated. */
extern const char *wire_get_json(const PGresult *result, int row, int column,
								 size_t *len);

/* A copy; NULL when null. */
extern char *wire_dup_text(const PGresult *result, int row, int column);

/* Walks a one-dimensional array: begin, then next until false. */
typedef struct WireArray
{
	const char *at;
	const char *end;
	int			n;				/* elements in all */
} WireArray;

extern void wire_array_begin(WireArray *array, const PGresult *result,
							 int row, int column);
extern bool wire_array_next(WireArray *array, const char **value, int *len);
extern int64 wire_int(const char *value, int len);	/* 2, 4 or 8 bytes */

/*
 * Whether the rows differ from the rows in *last, which then becomes a copy of
 * the new rows.  NULL stands for no rows so far.
 */
extern bool wire_is_news(PGresult **last, const PGresult *result) MUSTCHECK;

#endif							/* TWT_WIRE_H */
