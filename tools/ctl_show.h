/*-------------------------------------------------------------------------
 *
 * ctl_show.h
 *		Rows of the database shown as a table, as a list, or as JSON.
 *
 * Text of others cannot control the terminal.  JSON has the names of the SQL
 * columns; numbers, booleans and JSON are what they are, and all else is a string.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_SHOW_H
#define TWT_CTL_SHOW_H

#include "tools/ctl.h"

/* A table, or a JSON array of objects. */
extern void show_rows(const Ctl *ctl, const PGresult *rows);

/* The first row: one column in each line, or a JSON object. */
extern void show_record(const Ctl *ctl, const PGresult *rows);

/* A table of the first rows and columns. */
extern void show_table(const PGresult *rows, int nrows, int ncolumns);

/* Append JSON, without a line end; the second one has the first rows and columns. */
extern void show_json_row(StringInfo out, const PGresult *rows, int row, int ncolumns);
extern void show_json_rows(StringInfo out, const PGresult *rows, int nrows, int ncolumns);
extern void show_json_value(StringInfo out, const PGresult *rows, int row, int column);
extern void show_json_text(StringInfo out, const char *text);

/* The value in the column of this name, as the server wrote it; NULL: it is null. */
extern const char *show_value(const PGresult *rows, int row, const char *column);

/* The same of a column that is neither null nor free text: "" or "?" if a server says so. */
extern const char *show_word(const PGresult *rows, int row, const char *column);

/* The same in the first column, whose name nobody knows, and which is free text; "" if there is none. */
extern const char *show_first(const PGresult *rows, int row);

/* The same, safe to print; "" if it is null (palloc'd). */
extern char *show_text(const PGresult *rows, int row, const char *column);

/* Why the server refused a statement, safe to print (palloc'd). */
extern char *show_refusal(const PGresult *refusal);

/* Prints and frees a document, with a line end. */
extern void show_document(StringInfo out);

#endif							/* TWT_CTL_SHOW_H */
