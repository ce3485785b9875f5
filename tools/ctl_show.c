/*-------------------------------------------------------------------------
 *
 * ctl_show.c
 *		Rows shown as a table, as a list, or as JSON.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <libsmartcols/libsmartcols.h>
#include <unistd.h>

#include "base/text.h"
#include "catalog/pg_type_d.h"
#include "tools/ctl_show.h"

/* Columns that a narrow terminal cuts. */
static const char *const long_columns[] = {"error", "message", "reason", "detail", "hint", "sentence",
"command", "example_error", NULL};

/* ---- JSON ---- */

void
show_json_text(StringInfo out, const char *text)
{
	appendStringInfoChar(out, '"');
	text_escape_json(out, text, strlen(text), MaxAllocSize);
	appendStringInfoChar(out, '"');
}

static bool
is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID ||
		type == FLOAT4OID || type == FLOAT8OID || type == NUMERICOID;
}

/* Neither NaN and Infinity nor what a server of others sends as a number or as JSON. */
static bool
is_json(Oid type, const char *text)
{
	if (is_number(type))
		return text[strspn(text, "0123456789+-.eE")] == '\0';
	if (type != JSONOID && type != JSONBOID)
		return false;
	for (; *text; text++)
		if (((unsigned char) *text < ' ' && strchr("\t\n\r", *text) == NULL) || *text == 0x7f)
			return false;
	return true;
}

void
show_json_value(StringInfo out, const PGresult *rows, int row, int column)
{
	const char *text = PQgetvalue(rows, row, column);
	Oid			type = PQftype(rows, column);

	if (PQgetisnull(rows, row, column))
		appendStringInfoString(out, "null");
	else if (type == BOOLOID)
		appendStringInfoString(out, *text == 't' ? "true" : "false");
	else if (is_json(type, text))
		appendStringInfoString(out, text);
	else
		show_json_text(out, text);
}

void
show_json_row(StringInfo out, const PGresult *rows, int row, int ncolumns)
{
	for (int column = 0; column < ncolumns; column++)
	{
		appendStringInfoString(out, column ? ", " : "{");
		show_json_text(out, PQfname(rows, column));
		appendStringInfoString(out, ": ");
		show_json_value(out, rows, row, column);
	}
	appendStringInfoChar(out, '}');
}

void
show_json_rows(StringInfo out, const PGresult *rows, int nrows, int ncolumns)
{
	appendStringInfoChar(out, '[');
	for (int row = 0; row < nrows; row++)
	{
		appendStringInfoString(out, row ? ",\n " : "");
		show_json_row(out, rows, row, ncolumns);
	}
	appendStringInfoChar(out, ']');
}

void
show_document(StringInfo out)
{
	puts(out->data);
	pfree(out->data);
}

/* ---- Text ---- */

const char *
show_value(const PGresult *rows, int row, const char *column)
{
	int			n = PQfnumber(rows, column);

	return n < 0 || PQgetisnull(rows, row, n) ? NULL : PQgetvalue(rows, row, n);
}

const char *
show_word(const PGresult *rows, int row, const char *column)
{
	const char *text = show_value(rows, row, column);

	return text == NULL ? "" : text_is_printable(text) ? text : "?";
}

const char *
show_first(const PGresult *rows, int row)
{
	return row < PQntuples(rows) && PQnfields(rows) > 0 ? PQgetvalue(rows, row, 0) : "";
}

char *
show_text(const PGresult *rows, int row, const char *column)
{
	const char *text = show_value(rows, row, column);

	return text ? text_quote_line(text, strlen(text), MaxAllocSize) : pstrdup("");
}

char *
show_refusal(const PGresult *refusal)
{
	const char *text = PQresultErrorField(refusal, PG_DIAG_MESSAGE_PRIMARY);

	return text ? text_quote_line(text, strlen(text), MaxAllocSize) : pstrdup("no answer");
}

/* People read seconds; JSON has all digits. */
static char *
cell(const PGresult *rows, int row, int column)
{
	char	   *text = show_text(rows, row, PQfname(rows, column));
	Oid			type = PQftype(rows, column);
	char	   *dot = strchr(text, '.');

	if (type == BOOLOID && *text)
	{
		pfree(text);
		return pstrdup(*PQgetvalue(rows, row, column) == 't' ? "true" : "false");
	}
	if ((type == TIMESTAMPTZOID || type == INTERVALOID) && dot != NULL)
	{
		size_t		digits = strspn(dot + 1, "0123456789");

		memmove(dot, dot + 1 + digits, strlen(dot + 1 + digits) + 1);
	}
	return text;
}

static bool
is_long(const char *name)
{
	for (const char *const *column = long_columns; *column; column++)
		if (strcmp(*column, name) == 0)
			return true;
	return false;
}

/* A table of which a part is missing would tell less than there is. */
static void
must_have(bool has_memory)
{
	if (!has_memory)
		ctl_fail(CTL_REFUSED, "out of memory");
}

static void
add_columns(struct libscols_table *table, const PGresult *rows, int ncolumns)
{
	for (int column = 0; column < ncolumns; column++)
	{
		const char *name = PQfname(rows, column);
		int			flags = (is_number(PQftype(rows, column)) ? SCOLS_FL_RIGHT : 0) |
			(is_long(name) ? SCOLS_FL_TRUNC : 0);

		must_have(scols_table_new_column(table, name, 0, flags) != NULL);
	}
}

static void
add_line(struct libscols_table *table, const PGresult *rows, int row, int ncolumns)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	must_have(line != NULL);
	for (int column = 0; column < ncolumns; column++)
	{
		char	   *text = cell(rows, row, column);

		must_have(scols_line_set_data(line, (size_t) column, text) == 0);
		pfree(text);
	}
}

void
show_table(const PGresult *rows, int nrows, int ncolumns)
{
	struct libscols_table *table = scols_new_table();

	must_have(table != NULL);
	add_columns(table, rows, ncolumns);
	for (int row = 0; row < nrows; row++)
		add_line(table, rows, row, ncolumns);
	must_have(scols_print_table(table) == 0);
	scols_unref_table(table);
}

void
show_rows(const Ctl *ctl, const PGresult *rows)
{
	StringInfoData out;

	if (!ctl->is_json)
	{
		show_table(rows, PQntuples(rows), PQnfields(rows));
		return;
	}
	initStringInfo(&out);
	show_json_rows(&out, rows, PQntuples(rows), PQnfields(rows));
	show_document(&out);
}

/* Names are words of ours, unless the server is another than we believe. */
static const char *
name_of(const PGresult *rows, int column)
{
	const char *name = PQfname(rows, column);

	return text_is_printable(name) ? name : "?";
}

static void
print_record(const PGresult *rows)
{
	int			width = 0;

	for (int column = 0; column < PQnfields(rows); column++)
		width = Max(width, (int) strlen(name_of(rows, column)));
	for (int column = 0; column < PQnfields(rows); column++)
		if (!PQgetisnull(rows, 0, column))
		{
			char	   *text = cell(rows, 0, column);

			printf("%-*s  %s\n", width, name_of(rows, column), text);
			pfree(text);
		}
}

void
show_record(const Ctl *ctl, const PGresult *rows)
{
	StringInfoData out;

	if (!ctl->is_json)
	{
		print_record(rows);
		return;
	}
	initStringInfo(&out);
	show_json_row(&out, rows, 0, PQnfields(rows));
	show_document(&out);
}
