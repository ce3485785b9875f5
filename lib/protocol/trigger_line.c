#include "base/port.h"

#include "protocol/trigger_line.h"

void
trigger_line_add(StringInfo out, const char *word, int bucket, const Trigger *trigger)
{
	char		text[TRIGGER_TEXT_MAX];

	(void) trigger_encode(trigger, text);
	appendStringInfo(out, "{\"%s\":%d,\"trigger\":\"%s\"}\n", word, bucket, text);
}

static bool
skip(const char **at, const char *text)
{
	size_t		len = strlen(text);

	if (strncmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

bool
trigger_line_read(const char *line, size_t len, const char *word, int *bucket, Trigger *trigger)
{
	static const char close[] = "\"}";
	const char *at = line;
	const char *end = line + len - Min(len, strlen(close));
	char	   *after;

	if (strcmp(end, close) != 0 || !skip(&at, "{\"") || !skip(&at, word) || !skip(&at, "\":"))
		return false;
	*bucket = (int) strtol(at, &after, 10);
	at = after;
	return skip(&at, ",\"trigger\":\"") && at <= end && *bucket >= 0 &&
		trigger_decode(at, end - at, trigger);
}
