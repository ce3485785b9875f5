#include "base/port.h"

#include "mb/pg_wchar.h"

#include "base/text.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_LEN 3

/* The escaped form of one character, or of one invalid byte. */
typedef struct Piece
{
	char		text[12];
	int			len;			/* bytes of text */
	int			used;			/* bytes of the input */
} Piece;

typedef void (*EscapeFn) (const unsigned char *s, size_t len, Piece *piece);

/* The length of the UTF-8 character at s, or 0 when there is none. */
static int
character_length(const unsigned char *s, size_t len)
{
	int			n = pg_utf_mblen(s);

	if ((size_t) n > len || !pg_utf8_islegal(s, n))
		return 0;
	return n;
}

bool
text_is_utf8(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *) text;
	int			n;

	for (size_t i = 0; i < len; i += n)
	{
		n = s[i] == '\0' ? 0 : character_length(s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

static bool
is_control(pg_wchar c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* Whether the character ends a line, turns text around, or is invalid. */
static bool
is_deceptive(pg_wchar c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f ||
		(c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
		c == 0xfeff || c == 0xfffe || c == 0xffff;
}

/* The letter of the short escape that C and JSON share, or 0. */
static char
short_escape(pg_wchar c)
{
	switch (c)
	{
		case '\n':
			return 'n';
		case '\r':
			return 'r';
		case '\t':
			return 't';
		case '\\':
			return '\\';
		default:
			return 0;
	}
}

static void
piece_printf(Piece *piece, const char *fmt, unsigned int value)
{
	piece->len = snprintf(piece->text, sizeof(piece->text), fmt, value);
}

static void
piece_copy(Piece *piece, const unsigned char *s)
{
	memcpy(piece->text, s, piece->used);
	piece->len = piece->used;
}

static void
escape_line(const unsigned char *s, size_t len, Piece *piece)
{
	int			n = character_length(s, len);
	pg_wchar	c;

	piece->used = Max(n, 1);
	if (n == 0)
	{
		piece_printf(piece, "\\x%02x", *s);
		return;
	}
	c = utf8_to_unicode(s);
	if (short_escape(c) != 0)
		piece_printf(piece, "\\%c", short_escape(c));
	else if (c < 0x80 && is_control(c))
		piece_printf(piece, "\\x%02x", c);
	else if (is_control(c) || is_deceptive(c))
		piece_printf(piece, "\\u%04x", c);
	else
		piece_copy(piece, s);
}

static void
escape_json(const unsigned char *s, size_t len, Piece *piece)
{
	int			n = character_length(s, len);
	pg_wchar	c;

	piece->used = Max(n, 1);
	c = n > 0 ? utf8_to_unicode(s) : 0xfffd;
	if (short_escape(c) != 0)
		piece_printf(piece, "\\%c", short_escape(c));
	else if (c == '"')
		piece_printf(piece, "\\%c", c);
	else if (n == 0 || is_control(c) || is_deceptive(c))
		piece_printf(piece, "\\u%04x", c);
	else
		piece_copy(piece, s);
}

static void
escape_ascii(const unsigned char *s, size_t len, Piece *piece)
{
	int			n = character_length(s, len);

	piece->used = Max(n, 1);
	if (n == 0)
		piece_printf(piece, "\\x%02x", *s);
	else if (n == 1)
		piece_copy(piece, s);
	else
		piece_printf(piece, n < 4 ? "\\u%04x" : "\\U%08x", utf8_to_unicode(s));
}

/* Number of leading bytes that no kind of escape changes. */
static size_t
plain_length(const char *text, size_t len)
{
	size_t		n = 0;

	while (n < len && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

static void
escape(StringInfo out, const char *text, size_t len, size_t limit,
	   EscapeFn escape_one)
{
	int			start = out->len;
	int			cut = start;	/* the ellipsis would fit here */
	size_t		pos = plain_length(text, len);

	if (pos + ELLIPSIS_LEN > limit)
		pos = 0;
	appendBinaryStringInfo(out, text, pos);
	cut += pos;
	while (pos < len)
	{
		size_t		written = out->len - start;
		Piece		piece;

		escape_one((const unsigned char *) text + pos, len - pos, &piece);
		if (written + piece.len > limit)
		{
			out->len = cut;
			out->data[cut] = '\0';
			if (limit >= ELLIPSIS_LEN)
				appendBinaryStringInfo(out, ELLIPSIS, ELLIPSIS_LEN);
			return;
		}
		appendBinaryStringInfo(out, piece.text, piece.len);
		pos += piece.used;
		if (written + piece.len + ELLIPSIS_LEN <= limit)
			cut = out->len;
	}
}

void
text_escape_line(StringInfo out, const char *text, size_t len, size_t limit)
{
	escape(out, text, len, limit, escape_line);
}

char *
text_quote_line(const char *text, size_t len, size_t limit)
{
	StringInfoData out;

	initStringInfo(&out);
	text_escape_line(&out, text, len, limit);
	return out.data;
}

char *
text_to_ascii(const char *text)
{
	StringInfoData out;

	initStringInfo(&out);
	escape(&out, text, strlen(text), SIZE_MAX, escape_ascii);
	return out.data;
}

void
text_escape_json(StringInfo out, const char *text, size_t len, size_t limit)
{
	escape(out, text, len, limit, escape_json);
}

bool
text_is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char) *text < 0x20 || (unsigned char) *text > 0x7e)
			return false;
	return true;
}

char *
text_without(char *text, const char *secret)
{
	StringInfoData out;
	const char *rest = text;
	const char *found;

	if (secret == NULL || secret[0] == '\0' || strstr(text, secret) == NULL)
		return text;
	initStringInfo(&out);
	while ((found = strstr(rest, secret)) != NULL)
	{
		appendStringInfo(&out, "%.*s***", (int) (found - rest), rest);
		rest = found + strlen(secret);
	}
	appendStringInfoString(&out, rest);
	text_forget(text);
	return out.data;
}

void
text_forget(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	pfree(text);
}
