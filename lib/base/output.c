#include "base/port.h"

#include <ctype.h>

#include "mb/pg_wchar.h"

#include "base/output.h"

#define CUT_MARK "..."

void
output_init(Output *output, size_t max)
{
	memset(output, 0, sizeof(*output));
	output->max = max;
}

void
output_clear(Output *output)
{
	if (output->bytes)
		pfree(output->bytes);
	output_init(output, output->max);
}

/* Forgets all but the last keep bytes. */
static void
keep_end(Output *output, size_t keep)
{
	memmove(output->bytes, output->bytes + output->len - keep, keep);
	output->len = keep;
	output->was_cut = true;
}

static void
make_room(Output *output, size_t needed)
{
	size_t		room = Max(output->room, 256);

	if (needed <= output->room)
		return;
	while (room < needed)
		room *= 2;
	output->bytes = output->bytes ? repalloc(output->bytes, room) :
		palloc(room);
	output->room = room;
}

/*
 * Dropping old bytes only when the buffer holds twice the limit costs at most
 * one move of each byte.
 */
void
output_add(Output *output, const char *bytes, size_t len)
{
	if (len > output->max)
	{
		bytes += len - output->max;
		len = output->max;
		output->was_cut = true;
	}
	if (len == 0)
		return;
	if (output->len + len > 2 * output->max)
		keep_end(output, output->max - len);
	make_room(output, output->len + len);
	memcpy(output->bytes + output->len, bytes, len);
	output->len += len;
}

/*
 * Escapes one character, or one invalid byte; returns its length in the input.
 */
static size_t
escape_one(const unsigned char *s, size_t len, char *piece, int *piece_len)
{
	int			n = pg_utf_mblen(s);

	if ((size_t) n > len || !pg_utf8_islegal(s, n))
		n = 0;
	if (n > 1 ||
		(n == 1 && ((*s >= ' ' && *s < 0x7f) || *s == '\n' || *s == '\t')))
	{
		memcpy(piece, s, n);
		*piece_len = n;
		return n;
	}
	*piece_len = snprintf(piece, 5, "\\x%02x", *s);
	return 1;
}

static size_t
escaped_length(const unsigned char *s, size_t len)
{
	size_t		total = 0;
	size_t		pos = 0;

	while (pos < len)
	{
		char		piece[8];
		int			piece_len;

		pos += escape_one(s + pos, len - pos, piece, &piece_len);
		total += piece_len;
	}
	return total;
}

void
output_escape(StringInfo out, const char *bytes, size_t len, size_t max)
{
	const unsigned char *s = (const unsigned char *) bytes;
	size_t		left = escaped_length(s, len);
	size_t		pos = 0;

	while (pos < len)
	{
		char		piece[8];
		int			piece_len;

		pos += escape_one(s + pos, len - pos, piece, &piece_len);
		if (left <= max)
			appendBinaryStringInfo(out, piece, piece_len);
		left -= piece_len;
	}
}

/* Steps over the rest of a character whose beginning was cut off. */
static size_t
broken_start(const Output *output, size_t start)
{
	size_t		n = 0;

	while (n < 3 && start + n < output->len &&
		   ((unsigned char) output->bytes[start + n] & 0xc0) == 0x80)
		n++;
	return n;
}

void
output_append(const Output *output, StringInfo out)
{
	size_t		len = output->len;
	size_t		start = len > output->max ? len - output->max : 0;
	bool		was_cut = output->was_cut || start > 0;

	while (len > start && isspace((unsigned char) output->bytes[len - 1]))
		len--;
	if (was_cut)
		start += broken_start(output, start);
	if (start >= len)
		return;
	if (was_cut || escaped_length((const unsigned char *) output->bytes + start,
								  len - start) > output->max)
		appendStringInfoString(out, CUT_MARK);
	output_escape(out, output->bytes + start, len - start, output->max);
}
