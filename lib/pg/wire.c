/*-------------------------------------------------------------------------
 *
 * wire.c
 *		Parameters and results in PostgreSQL's binary format.
 *
 * Numbers are in network order.  An array is: dimensions, flags, type of the
 * elements, then for each dimension its length and first index, then each
 * element as its length (-1: null) and its bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bswap.h"

#include "base/program.h"
#include "pg/wire.h"

void
wire_init(WireParams *params)
{
	params->n = 0;
}

void
wire_clear(WireParams *params)
{
	for (int i = 0; i < params->n; i++)
		pfree(params->values[i].data);
	params->n = 0;
}

static StringInfo
add_value(WireParams *params)
{
	Assert(params->n < WIRE_MAX_PARAMS);
	params->nulls[params->n] = false;
	initStringInfo(&params->values[params->n]);
	return &params->values[params->n++];
}

static StringInfo
last_value(WireParams *params)
{
	return &params->values[params->n - 1];
}

static void
put_int4(StringInfo to, int32 value)
{
	uint32		net = pg_hton32((uint32) value);

	appendBinaryStringInfo(to, (char *) &net, sizeof(net));
}

static void
put_int8(StringInfo to, int64 value)
{
	uint64		net = pg_hton64((uint64) value);

	appendBinaryStringInfo(to, (char *) &net, sizeof(net));
}

void
wire_add_int8(WireParams *params, int64 value)
{
	put_int8(add_value(params), value);
}

void
wire_add_int4(WireParams *params, int32 value)
{
	put_int4(add_value(params), value);
}

void
wire_add_bool(WireParams *params, bool value)
{
	appendStringInfoChar(add_value(params), value ? 1 : 0);
}

void
wire_add_text(WireParams *params, const char *value)
{
	StringInfo	to = add_value(params);

	params->nulls[params->n - 1] = value == NULL;
	if (value != NULL)
		appendStringInfoString(to, value);
}

void
wire_add_array(WireParams *params, WireType type, int n)
{
	StringInfo	to = add_value(params);

	put_int4(to, n > 0 ? 1 : 0);
	put_int4(to, 1);			/* nulls are allowed */
	put_int4(to, type);
	if (n == 0)
		return;
	put_int4(to, n);
	put_int4(to, 1);
}

void
wire_uuid(WireParams *params, const uint8 *id)
{
	put_int4(last_value(params), 16);
	appendBinaryStringInfo(last_value(params), (const char *) id, 16);
}

void
wire_int8(WireParams *params, int64 value)
{
	put_int4(last_value(params), 8);
	put_int8(last_value(params), value);
}

void
wire_place(WireParams *params, const RowPlace *place)
{
	put_int4(last_value(params), sizeof(place->bytes));
	appendBinaryStringInfo(last_value(params), (const char *) place->bytes,
						   sizeof(place->bytes));
}

void
wire_null_element(WireParams *params)
{
	put_int4(last_value(params), -1);
}

void
wire_bytes(WireParams *params, const char *value, int len)
{
	if (value == NULL)
	{
		wire_null_element(params);
		return;
	}
	put_int4(last_value(params), len);
	appendBinaryStringInfo(last_value(params), value, len);
}

void
wire_text(WireParams *params, const char *value)
{
	wire_bytes(params, value, value == NULL ? 0 : (int) strlen(value));
}

int64
wire_int(const char *value, int len)
{
	uint64		eight;
	uint32		four;
	uint16		two;

	switch (len)
	{
		case 8:
			memcpy(&eight, value, 8);
			return (int64) pg_ntoh64(eight);
		case 4:
			memcpy(&four, value, 4);
			return (int32) pg_ntoh32(four);
		case 2:
			memcpy(&two, value, 2);
			return (int16) pg_ntoh16(two);
		default:
			return 0;
	}
}

int64
wire_get_int(const PGresult *result, int row, int column)
{
	return wire_int(PQgetvalue(result, row, column),
					PQgetlength(result, row, column));
}

bool
wire_get_bool(const PGresult *result, int row, int column)
{
	return PQgetlength(result, row, column) == 1 &&
		*PQgetvalue(result, row, column) != 0;
}

const uint8 *
wire_get_uuid(const PGresult *result, int row, int column)
{
	static const uint8 none[16];

	if (PQgetlength(result, row, column) != 16)
		return none;
	return (const uint8 *) PQgetvalue(result, row, column);
}

RowPlace
wire_get_place(const PGresult *result, int row, int column)
{
	RowPlace	place = {0};

	if (PQgetlength(result, row, column) == sizeof(place.bytes))
		memcpy(place.bytes, PQgetvalue(result, row, column), sizeof(place.bytes));
	return place;
}

/* The server counts microseconds from 2000. */
int64
wire_get_time(const PGresult *result, int row, int column)
{
	return wire_get_int(result, row, column) +
		INT64CONST(946684800) * 1000000;
}

/* The value is the format's version, 1, and the text. */
const char *
wire_get_json(const PGresult *result, int row, int column, size_t *len)
{
	const char *value = PQgetvalue(result, row, column);

	*len = PQgetlength(result, row, column);
	if (*len > 0 && *value == 1)
	{
		(*len)--;
		value++;
	}
	return value;
}

char *
wire_dup_text(const PGresult *result, int row, int column)
{
	if (PQgetisnull(result, row, column))
		return NULL;
	return pstrdup(PQgetvalue(result, row, column));
}

void
wire_array_begin(WireArray *array, const PGresult *result, int row, int column)
{
	const char *value = PQgetvalue(result, row, column);
	int			len = PQgetlength(result, row, column);

	memset(array, 0, sizeof(*array));
	if (len < 20 || wire_int(value, 4) != 1)
		return;
	array->n = (int) wire_int(value + 12, 4);
	array->at = value + 20;
	array->end = value + len;
}

bool
wire_array_next(WireArray *array, const char **value, int *len)
{
	if (array->at == NULL || array->end - array->at < 4)
		return false;
	*len = (int) wire_int(array->at, 4);
	*value = array->at + 4;
	if (*len > array->end - *value)
		return false;
	array->at = *value + Max(*len, 0);
	return true;
}

static bool
is_same_value(const PGresult *a, const PGresult *b, int row, int column)
{
	int			len = PQgetlength(a, row, column);

	return PQgetisnull(a, row, column) == PQgetisnull(b, row, column) &&
		len == PQgetlength(b, row, column) &&
		memcmp(PQgetvalue(a, row, column), PQgetvalue(b, row, column), len) == 0;
}

static bool
has_same_rows(const PGresult *a, const PGresult *b)
{
	if (PQntuples(a) != PQntuples(b))
		return false;
	for (int row = 0; row < PQntuples(a); row++)
		for (int i = 0; i < PQnfields(a); i++)
			if (!is_same_value(a, b, row, i))
				return false;
	return true;
}

bool
wire_is_news(PGresult **last, const PGresult *result)
{
	if (*last != NULL && has_same_rows(*last, result))
		return false;
	PQclear(*last);
	*last = PQcopyResult(result, PG_COPYRES_ATTRS | PG_COPYRES_TUPLES);
	if (*last == NULL)
		program_out_of_memory("postgres");
	return true;
}
