/*-------------------------------------------------------------------------
 *
 * values.c
 *		Parameters of calls, and their results, as the model reads and writes them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bswap.h"

#include "values.h"
#include "world.h"

/* The server's times begin in 2000. */
#define SINCE_2000_US SECONDS_TO_US(946684800)

/* ---- parameters ---- */

static const StringInfoData *
param(const ServerCall *call, int i)
{
	if (i >= call->params.n)
		world_fail("%s has no parameter %d", call->statement->name, i + 1);
	return &call->params.values[i];
}

int64
param_int(const ServerCall *call, int i)
{
	return wire_int(param(call, i)->data, param(call, i)->len);
}

bool
param_bool(const ServerCall *call, int i)
{
	return param(call, i)->data[0] != 0;
}

bool
param_is_null(const ServerCall *call, int i)
{
	return i >= call->params.n || call->params.nulls[i];
}

bool
param_is_text(const ServerCall *call, int i, const char *text)
{
	return param(call, i)->len == (int) strlen(text) && memcmp(param(call, i)->data, text, strlen(text)) == 0;
}

void
param_array(const ServerCall *call, int i, Elements *elements)
{
	const char *at;

	elements->n = 0;
	if (param_is_null(call, i))
		return;
	at = param(call, i)->data;
	if (wire_int(at, 4) == 0)
		return;
	elements->n = (int) wire_int(at + 12, 4);
	if (elements->n > ELEMENTS_MOST)
		world_fail("%s has %d elements", call->statement->name, elements->n);
	at += 20;
	for (int k = 0; k < elements->n; k++)
	{
		int			len = (int) wire_int(at, 4);

		elements->lens[k] = len;
		elements->values[k] = len < 0 ? NULL : at + 4;
		at += 4 + Max(len, 0);
	}
}

const char *
element(const Elements *elements, int i, int *len)
{
	int			place = elements->n == 1 ? 0 : i;

	if (place >= elements->n)
		world_fail("an array has %d elements, and not one at %d", elements->n, i);
	*len = elements->lens[place];
	return elements->values[place];
}

int64
element_int(const Elements *elements, int i)
{
	int			len;
	const char *value = element(elements, i, &len);

	return wire_int(value, len);
}

bool
element_is_text(const Elements *elements, int i, const char *text)
{
	int			len;
	const char *value = element(elements, i, &len);

	return value != NULL && len == (int) strlen(text) && memcmp(value, text, len) == 0;
}

bool
elements_have_text(const Elements *elements, const char *text)
{
	for (int i = 0; i < elements->n; i++)
		if (element_is_text(elements, i, text))
			return true;
	return false;
}

/* ---- results ---- */

PGresult *
result_new(int columns)
{
	static char name[] = "column";
	PGresAttDesc attributes[20];
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

	memset(attributes, 0, sizeof(attributes));
	for (int i = 0; i < columns; i++)
	{
		attributes[i].name = name;
		attributes[i].format = 1;
	}
	if (!PQsetResultAttrs(result, columns, attributes))
		world_fail("out of memory");
	return result;
}

void
result_bytes(PGresult *result, int row, int column, const void *value, int len)
{
	if (!PQsetvalue(result, row, column, unconstify(char *, (const char *) value), len))
		world_fail("out of memory");
}

void
result_null(PGresult *result, int row, int column)
{
	if (!PQsetvalue(result, row, column, NULL, -1))
		world_fail("out of memory");
}

void
result_text(PGresult *result, int row, int column, const char *value)
{
	result_bytes(result, row, column, value, strlen(value));
}

void
result_int(PGresult *result, int row, int column, int64 value)
{
	uint64		net = pg_hton64((uint64) value);

	result_bytes(result, row, column, &net, sizeof(net));
}

void
result_bool(PGresult *result, int row, int column, bool value)
{
	char		byte = value;

	result_bytes(result, row, column, &byte, 1);
}

void
result_time(PGresult *result, int row, int column, int64 unix_us)
{
	result_int(result, row, column, unix_us - SINCE_2000_US);
}

static void
put_int4(StringInfo to, int value)
{
	uint32		net = pg_hton32((uint32) value);

	appendBinaryStringInfo(to, (char *) &net, sizeof(net));
}

void
result_array(PGresult *result, int column, int type, const Elements *elements)
{
	StringInfoData bytes;

	initStringInfo(&bytes);
	put_int4(&bytes, elements->n > 0 ? 1 : 0);
	put_int4(&bytes, 0);
	put_int4(&bytes, type);
	if (elements->n > 0)
	{
		put_int4(&bytes, elements->n);
		put_int4(&bytes, 1);
	}
	for (int i = 0; i < elements->n; i++)
	{
		put_int4(&bytes, elements->lens[i]);
		appendBinaryStringInfo(&bytes, elements->values[i], elements->lens[i]);
	}
	result_bytes(result, 0, column, bytes.data, bytes.len);
	pfree(bytes.data);
}
