#include "base/port.h"

#include "base/text.h"
#include "base/foreign_json.h"
#include "base/trace.h"

#define TRACEPARENT_LEN 55
#define TRACESTATE_MAX 512
#define REQUEST_ID_MAX 200

/*
 * Its parts have 2, 32, 16 and 2 digits.  Neither the trace nor the parent may
 * be all zeros, and the version must not be ff.
 */
static bool
is_traceparent(const char *text)
{
	static const int parts[] = {2, 32, 16, 2};
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < (int) lengthof(parts); i++)
	{
		if (strspn(text, hex) != (size_t) parts[i] ||
			((i == 1 || i == 2) && strspn(text, "0") == (size_t) parts[i]) ||
			(i == 0 && strncmp(text, "ff", 2) == 0))
			return false;
		text += parts[i];
		if (i < 3 && *text++ != '-')
			return false;
	}
	return *text == '\0';
}

static const char *
get_text(const json_t *context, const char *name, size_t max)
{
	const char *text = json_string_value(json_object_get(context, name));

	return text != NULL && text[0] != '\0' && strlen(text) <= max &&
		text_is_printable(text) ? text : NULL;
}

void
trace_init(Trace *trace, const char *context)
{
	ForeignJsonFault fault;

	memset(trace, 0, sizeof(Trace));
	if (context == NULL || strlen(context) > CONTEXT_READ_MAX)
		return;
	trace->context = foreign_json_load(context, strlen(context), NULL, &fault);
	trace->parent = get_text(trace->context, "traceparent", TRACEPARENT_LEN);
	if (trace->parent != NULL && !is_traceparent(trace->parent))
		trace->parent = NULL;
	if (trace->parent != NULL)
		trace->state = get_text(trace->context, "tracestate", TRACESTATE_MAX);
	trace->request_id = get_text(trace->context, "request_id", REQUEST_ID_MAX);
}

void
trace_clear(Trace *trace)
{
	json_decref(trace->context);
}
