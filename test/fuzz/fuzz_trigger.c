/*-------------------------------------------------------------------------
 *
 * fuzz_trigger.c
 *		Triggers, their lines, ids and patterns: what is read is what would be written.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <ctype.h>

#include "common/limit_pattern.h"
#include "common/pattern.h"
#include "common/task_id.h"
#include "input.h"
#include "protocol/trigger_line.h"

static void
read_trigger(const char *text, size_t len)
{
	Trigger		trigger;
	char		again[TRIGGER_TEXT_MAX];

	if (!trigger_decode(text, len, &trigger))
		return;
	must(trigger_encode(&trigger, again) == len && memcmp(again, text, len) == 0, "a trigger is read as it is written", text);
	must(trigger_type_valid(trigger.type, strlen(trigger.type)), "its type is valid", text);
	(void) task_id_ms(trigger.id);
}

static void
read_line(const char *text, size_t len)
{
	Trigger		trigger;
	Trigger		again;
	int			bucket;
	int			other;
	StringInfoData line;

	if (!trigger_line_read(text, len, "got", &bucket, &trigger))
		return;
	initStringInfo(&line);
	trigger_line_add(&line, "got", bucket, &trigger);
	/* without its end */
	line.data[--line.len] = '\0';
	must(trigger_line_read(line.data, line.len, "got", &other, &again) && other == bucket &&
		 strcmp(again.type, trigger.type) == 0 && again.version == trigger.version, "a line is read as it was written", text);
	pfree(line.data);
}

/* A second reader: hexadecimal digits, in groups of four, and the hyphens behind them. */
static bool
is_uuid(const char *text, size_t len)
{
	int			digits = 0;

	if (len > 2 && text[0] == '{' && text[len - 1] == '}')
	{
		text++;
		len -= 2;
	}
	for (size_t i = 0; i < len; i++)
		if (isxdigit((unsigned char) text[i]))
			digits++;
		else if (text[i] != '-' || i == 0 || digits % 4 != 0 || text[i - 1] == '-' || digits >= 32)
			return false;
	return digits == 32;
}

static void
read_id(const char *text, size_t len)
{
	uint8		id[TRIGGER_ID_BYTES];
	uint8		again[TRIGGER_ID_BYTES];
	char		usual[37];

	must(trigger_id_read(text, len, id) == is_uuid(text, len), "an id has 32 digits", text);
	if (!is_uuid(text, len))
		return;
	trigger_id_text(id, usual);
	must(trigger_id_parse(usual, again) && memcmp(id, again, sizeof(id)) == 0, "an id is read as it is written", text);
}

/* The limit of a type by the words of limit_pattern.h; NULL: the pattern does not cover it. */
static char *
name_of(const char *pattern, const char *type)
{
	size_t		len = strlen(pattern);
	bool		has_star = len > 0 && pattern[len - 1] == '*';
	size_t		start = len - has_star;

	if (strncmp(pattern, type, start) != 0)
		return NULL;
	if (has_star && start > 0 && pattern[start - 1] == '|')
		return pnstrdup(type, start + strcspn(type + start, "|"));
	if (!has_star && type[start] != '\0' && type[start] != '|')
		return NULL;
	return pstrdup(pattern);
}

static void
read_pattern(const char *pattern, const char *type)
{
	char		name[LIMIT_NAME_MAX + 1];
	char	   *expected;
	int			narrowness;

	(void) pattern_fit(pattern, type);
	(void) trigger_bucket_valid(type, strlen(type));
	if (!limit_pattern_valid(pattern, strlen(pattern)) || !trigger_type_valid(type, strlen(type)))
		return;
	expected = name_of(pattern, type);
	narrowness = limit_pattern_name(pattern, type, name);
	must((narrowness >= 0) == (expected != NULL), "a pattern covers the types that it says", pattern);
	must(expected == NULL || strcmp(name, expected) == 0, "a limit has the name that its pattern says", pattern);
	pfree(expected);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	size_t		len;
	char	   *text = input_bytes(&input, &len);
	char	   *type = input_text(&input);

	read_trigger(text, len);
	read_line(text, len);
	read_id(text, len);
	read_pattern(text, type);
	pfree(text);
	pfree(type);
	return 0;
}
