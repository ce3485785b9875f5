/*-------------------------------------------------------------------------
 *
 * fuzz_json.c
 *		JSON of foreign programs: our scanners against jansson.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/foreign_json.h"
#include "base/json_member.h"
#include "base/text.h"
#include "base/trace.h"
#include "input.h"

static const char *const names[] = {"a", "id", "result", NULL};

/* foreign_json_load() reads all that jansson reads, to the same value. */
static void
load(const char *text, size_t len, json_t *strict)
{
	ForeignJsonFault fault;
	json_t	   *plain = foreign_json_load(text, len, NULL, &fault);
	json_t	   *named = foreign_json_load(text, len, names, &fault);

	must(plain == NULL || named != NULL, "names refuse nothing", text);
	must(strict == NULL || json_equal(plain, strict), "it reads what jansson reads", text);
	must(strict == NULL || json_equal(named, strict), "with names, too", text);
	must(named == NULL || json_is_object(named) || fault.repeated == NULL, "only an object repeats a member", text);
	json_decref(plain);
	json_decref(named);
}

/* The text of a member is what jansson finds in it. */
static void
find_member(const char *text, const json_t *object, const char *name)
{
	size_t		len = 0;
	const char *found = json_member(text, name, &len);
	json_t	   *value;

	if (found == NULL || !json_is_object(object))
		return;
	value = json_loadb(found, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	must(value != NULL, "the text of a member is JSON", text);
	/* a later member whose name has escapes may have the same name */
	must(strchr(text, '\\') != NULL || json_equal(value, json_object_get(object, name)), "it is the value of the member", text);
	json_decref(value);
}

/* A text with escapes is UTF-8, and as long as it may be. */
static void
escape(const char *bytes, size_t len, int limit)
{
	StringInfoData line;
	char	   *quoted;
	char	   *ascii;

	initStringInfo(&line);
	text_escape_line(&line, bytes, len, limit);
	must(line.len <= limit && text_is_utf8(line.data, line.len), "a line is UTF-8 and short enough", line.data);
	must(strpbrk(line.data, "\r\n\t\x1b") == NULL, "a line has no control characters", line.data);
	ascii = text_to_ascii(line.data);
	must(ascii[strspn(ascii, " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~")] == '\0', "ASCII is ASCII", ascii);
	pfree(ascii);
	resetStringInfo(&line);
	text_escape_json(&line, bytes, len, limit);
	quoted = psprintf("\"%s\"", line.data);
	must(line.len <= limit && is_json(quoted), "a string is JSON and short enough", quoted);
	pfree(quoted);
	pfree(line.data);
}

static void
read_trace(const char *text)
{
	Trace		trace;

	trace_init(&trace, text);
	must(trace.parent == NULL || strpbrk(trace.parent, "\r\n") == NULL, "a parent is no second header", text);
	must(trace.state == NULL || strpbrk(trace.state, "\r\n") == NULL, "a state is no second header", text);
	must(trace.request_id == NULL || strpbrk(trace.request_id, "\r\n") == NULL, "an id is no second header", text);
	trace_clear(&trace);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	int			limit = input_choice(&input, 256);
	size_t		len;
	char	   *text;
	json_t	   *strict;

	escape((const char *) input.at, input.left, limit);
	text = input_bytes(&input, &len);
	strict = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	load(text, len, strict);
	if (strlen(text) == len)
		for (int i = 0; names[i] != NULL; i++)
			find_member(text, strict, names[i]);
	if (strict != NULL && strlen(text) == len && json_flaw(text, len) == NULL)
		must(text_is_utf8(text, len), "a text without a flaw is UTF-8", text);
	read_trace(text);
	json_decref(strict);
	pfree(text);
	return 0;
}
