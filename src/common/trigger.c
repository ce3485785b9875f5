/*-------------------------------------------------------------------------
 *
 * trigger.c
 *		A trigger: "version V of task I may run", and its wire format.
 *
 * No locale, no stdio, no allocation: this code also runs where a transaction
 * is already committed and nothing may fail.
 *
 *-------------------------------------------------------------------------
 */
#include "trigger.h"

#include <string.h>

#define ID_TEXT_LEN 36

static bool
is_name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		(c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* "more" lists the other characters that are valid. */
static bool
is_name(const char *text, size_t len, size_t max, const char *more)
{
	if (len < 1 || len > max)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_name_char(text[i]) && (text[i] == '\0' || strchr(more, text[i]) == NULL))
			return false;
	return true;
}

bool
trigger_type_valid(const char *type, size_t len)
{
	return is_name(type, len, TRIGGER_TYPE_MAX, ".:|/");
}

bool
trigger_bucket_valid(const char *bucket, size_t len)
{
	return is_name(bucket, len, TRIGGER_BUCKET_MAX, "");
}

/* Whether the text form of an id has a hyphen before that byte. */
static bool
hyphen_before(int byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void
trigger_id_text(const uint8_t *id, char *buf)
{
	static const char digits[] = "0123456789abcdef";
	int			i;

	for (i = 0; i < TRIGGER_ID_BYTES; i++)
	{
		if (hyphen_before(i))
			*buf++ = '-';
		*buf++ = digits[id[i] >> 4];
		*buf++ = digits[id[i] & 15];
	}
	*buf = '\0';
}

/* -1: not a hexadecimal digit. */
static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
trigger_id_parse(const char *text, uint8_t *id)
{
	int			i;

	for (i = 0; i < TRIGGER_ID_BYTES; i++)
	{
		int			high;
		int			low;

		if (hyphen_before(i) && *text++ != '-')
			return false;
		high = hex_value(*text++);
		if (high < 0)
			return false;
		low = hex_value(*text++);
		if (low < 0)
			return false;
		id[i] = (uint8_t) (high << 4 | low);
	}
	return true;
}

bool
trigger_id_read(const char *text, size_t len, uint8_t *id)
{
	const char *end = text + len;
	bool		is_braced = len >= 2 && text[0] == '{' && end[-1] == '}';

	text += is_braced;
	end -= is_braced;
	for (int i = 0; i < TRIGGER_ID_BYTES; i++)
	{
		int			high;
		int			low;

		if (i > 0 && i % 2 == 0 && text < end && *text == '-')
			text++;
		if (end - text < 2)
			return false;
		high = hex_value(*text++);
		low = hex_value(*text++);
		if (high < 0 || low < 0)
			return false;
		id[i] = (uint8_t) (high << 4 | low);
	}
	return text == end;
}

/* Writes value and a space; returns the position after them. */
static char *
write_number(char *buf, int64_t value)
{
	char		digits[20];
	uint64_t	rest = value > 0 ? (uint64_t) value : 0;
	int			n = 0;

	do
	{
		digits[n++] = (char) ('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	while (n > 0)
		*buf++ = digits[--n];
	*buf++ = ' ';
	return buf;
}

size_t
trigger_encode(const TaskTrigger *trigger, char *buf)
{
	char	   *at = buf;

	trigger_id_text(trigger->id, at);
	at += ID_TEXT_LEN;
	*at++ = ' ';
	at = write_number(at, trigger->version);
	at = write_number(at, trigger->priority);
	at = write_number(at, trigger->size);
	at = write_number(at, trigger->due_us);
	memcpy(at, trigger->type, trigger->type_len);
	at += trigger->type_len;
	*at = '\0';
	return (size_t) (at - buf);
}

/*
 * Reads digits and the one space that ends them: 0, or a number without
 * leading zeros, at most max.  Returns the position after them, or NULL if
 * there is anything else.
 */
static const char *
read_number(const char *at, const char *end, int64_t max, int64_t *value)
{
	const char *start = at;

	for (*value = 0; at < end && *at >= '0' && *at <= '9'; at++)
	{
		int			digit = *at - '0';

		if (*value > (max - digit) / 10)
			return NULL;
		*value = *value * 10 + digit;
	}
	if (at == start || (*start == '0' && at - start > 1))
		return NULL;
	if (at == end || *at != ' ')
		return NULL;
	return at + 1;
}

/* Upper-case hexadecimal digits are valid in an id, but not canonical. */
static bool
read_id(const char *text, uint8_t *id)
{
	char		canonical[ID_TEXT_LEN + 1];

	if (!trigger_id_parse(text, id))
		return false;
	trigger_id_text(id, canonical);
	return memcmp(text, canonical, ID_TEXT_LEN) == 0;
}

bool
trigger_decode(const char *text, size_t len, TaskTrigger *trigger)
{
	const char *end = text + len;
	const int64_t max_priority = TRIGGER_PRIORITIES - 1;
	const char *at;
	int64_t		priority;
	int64_t		size;

	if (len <= ID_TEXT_LEN || text[ID_TEXT_LEN] != ' ' ||
		!read_id(text, trigger->id))
		return false;
	at = text + ID_TEXT_LEN + 1;
	if ((at = read_number(at, end, INT64_MAX, &trigger->version)) == NULL ||
		(at = read_number(at, end, max_priority, &priority)) == NULL ||
		(at = read_number(at, end, INT32_MAX, &size)) == NULL ||
		(at = read_number(at, end, INT64_MAX, &trigger->due_us)) == NULL)
		return false;
	len = (size_t) (end - at);
	if (!trigger_type_valid(at, len))
		return false;

	trigger->priority = (uint8_t) priority;
	trigger->size = (int32_t) size;
	trigger->type_len = (uint8_t) len;
	memcpy(trigger->type, at, len);
	trigger->type[len] = '\0';
	return true;
}
