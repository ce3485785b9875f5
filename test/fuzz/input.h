/*-------------------------------------------------------------------------
 *
 * input.h
 *		What the fuzz targets share: the input in parts, and claims about a parser.
 *
 * libFuzzer calls LLVMFuzzerTestOneInput() with bytes.  A target that wants several texts
 * finds them between bytes 0xff, which no text in UTF-8 has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_INPUT_H
#define TWT_INPUT_H

typedef struct Input
{
	const uint8 *at;
	size_t		left;
} Input;

/* libFuzzer's entry: each target defines it. */
extern int	LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size);

/*
 * The next text, without NULs, palloc'd so that the sanitizer sees its end; "" behind the
 * last one.
 */
extern char *input_text(Input *input);

/* The next text with all its bytes, a NUL behind it. */
extern char *input_bytes(Input *input, size_t *len);

/* One of n numbers from 0, by the next byte; 0 at the end. */
extern int	input_choice(Input *input, int n);

/* The path of a file in memory with these bytes, which only we may read; the same each time. */
extern const char *input_file(const char *bytes, size_t len);

/* Ends the program with the claim and the text if the claim does not hold. */
extern void must(bool holds, const char *claim, const char *text);

/* Whether the text is JSON by jansson, with any value; numbers may be too large for it. */
extern bool is_json(const char *text);

/* Equal texts, or both NULL. */
extern bool is_same_text(const char *a, const char *b);

#endif							/* TWT_INPUT_H */
