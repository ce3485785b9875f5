/*-------------------------------------------------------------------------
 *
 * output.h
 *		The end of what a handler wrote, made safe to store with its task.
 *
 * Only the last bytes are kept, however much a handler writes.  As text they
 * are valid UTF-8 without NUL; line ends and tabs stay, other control
 * characters and invalid bytes become \xHH.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OUTPUT_H
#define TWT_OUTPUT_H

typedef struct Output
{
	char	   *bytes;			/* at most twice max bytes */
	size_t		len;
	size_t		room;
	size_t		max;			/* bytes to keep */
	bool		was_cut;
} Output;

extern void output_init(Output *output, size_t max);
extern void output_clear(Output *output);
extern void output_add(Output *output, const char *bytes, size_t len);

/*
 * Appends the text without the white space at its end, not much more than max
 * bytes.  "..." replaces a beginning that is missing.  Nothing is appended if
 * there is no text.
 */
extern void output_append(const Output *output, StringInfo out);

/* Appends the last bytes of a text, made safe; at most max bytes. */
extern void output_escape(StringInfo out, const char *bytes, size_t len,
						  size_t max);

#endif							/* TWT_OUTPUT_H */
