/*-------------------------------------------------------------------------
 *
 * text.h
 *		Foreign text made safe to print: it stays readable, but can neither end
 *		a line nor control a terminal.
 *
 * The functions escape control characters (C0, DEL, C1), U+2028 and U+2029,
 * characters that change the direction of text, and invalid UTF-8.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TEXT_H
#define TWT_TEXT_H

/*
 * Both append at most limit bytes to out.  Text that does not fit is cut
 * between two characters and ends in an ellipsis (a limit below its three
 * bytes gives nothing).
 */

/* Escapes for a line that people read: \n, \x1b, \u202e, and \\ for a backslash. */
extern void text_escape_line(StringInfo out, const char *text, size_t len,
							 size_t limit);

/* The same as a palloc'd string. */
extern char *text_quote_line(const char *text, size_t len, size_t limit);

/*
 * Only ASCII, for a database whose encoding has few characters: \u20ac, \U0001f600,
 * and \xff for a byte that is not UTF-8.  palloc'd.
 */
extern char *text_to_ascii(const char *text);

/*
 * For the inside of a JSON string or of a double-quoted YAML scalar.  Bytes
 * that are not UTF-8 become U+FFFD.
 */
extern void text_escape_json(StringInfo out, const char *text, size_t len,
							 size_t limit);

/* Whether PostgreSQL takes the bytes as text in UTF-8, which has no NUL. */
extern bool text_is_utf8(const char *text, size_t len);

/* Whether the text is printable ASCII, as a header or a variable requires. */
extern bool text_is_printable(const char *text);

/*
 * Puts *** in place of a secret, such as in an answer that repeats it, and takes the text
 * over.  secret: NULL or empty: there is none.
 */
extern char *text_without(char *text, const char *secret);

/* Overwrites and frees a text that may hold a secret; NULL is allowed. */
extern void text_forget(char *text);

#endif							/* TWT_TEXT_H */
