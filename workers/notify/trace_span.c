/*-------------------------------------------------------------------------
 *
 * trace_span.c
 *		A try as a span of OTLP, in JSON.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "common/version.h"
#include "workers/notify/trace_span.h"

#define SPAN_KIND_INTERNAL 1
#define SPAN_KIND_CONSUMER 5
#define CODE_ERROR 2

/* The spans that have an attribute. */
typedef enum Scope
{
	OF_ALL,						/* both tries and waits */
	OF_TRY,
	OF_FAILURE					/* tries that failed */
} Scope;

typedef struct Attribute
{
	const char *name;
	const char *member;			/* in the sidecar's line; NULL: see value */
	const char *value;
	Scope		scope;
} Attribute;

/*
 * All names by which tracers know our attributes.  OpenTelemetry's conventions for messaging
 * are not stable, so they may change.
 */
static const Attribute attributes[] = {
	{"messaging.system", NULL, "twtasks"},
	{"messaging.operation.type", NULL, "process", OF_TRY},
	{"messaging.operation.name", NULL, "process", OF_TRY},
	{"messaging.destination.name", "type"},
	{"messaging.message.id", "task"},
	{"messaging.twtasks.message.delivery_attempt", "try"},
	{"messaging.twtasks.result", "result", .scope = OF_TRY},
	{"error.type", "result", .scope = OF_FAILURE}
};

/* Integers have 64 bits, which JSON's numbers lack. */
static json_t *
attribute(const char *name, json_t *value)
{
	return json_is_integer(value) ? json_pack("{sss{so}}", "key", name, "value", "intValue", json_sprintf("%lld", (long long) json_integer_value(value))) :
		json_pack("{sss{sO}}", "key", name, "value", "stringValue", value);
}

static json_t *
attributes_of(const json_t *told, Scope most)
{
	json_t	   *list = json_array();

	for (size_t i = 0; i < lengthof(attributes); i++)
	{
		const Attribute *own = &attributes[i];
		json_t	   *value = own->member == NULL ? json_string(own->value) : json_incref(json_object_get(told, own->member));

		if (own->scope <= most)
			json_array_append_new(list, attribute(own->name, value));
		json_decref(value);
	}
	return list;
}

static json_int_t
integer_of(const json_t *told, const char *name)
{
	return json_integer_value(json_object_get(told, name));
}

static void
set_time(json_t *span, const char *name, json_int_t us)
{
	json_object_set_new(span, name, json_sprintf("%lld000", (long long) us));
}

static json_t *
links_of(const char *link)
{
	return json_pack("[{ss#ss}]", "traceId", link, 32, "spanId", link + 33);
}

static json_t *
span_of(const json_t *told, const char *operation, const char *id, Scope most)
{
	json_t	   *span = json_pack("{sOsOso}", "traceId", json_object_get(told, "trace"),
								 "spanId", json_object_get(told, id), "attributes", attributes_of(told, most));

	json_object_set_new(span, "name", json_sprintf("%s %s", operation, json_string_value(json_object_get(told, "type"))));
	return span;
}

static json_t *
try_of(const json_t *told)
{
	bool		has_failed = json_is_true(json_object_get(told, "failed"));
	const char *parent = json_string_value(json_object_get(told, "parent"));
	const char *link = json_string_value(json_object_get(told, "link"));
	json_t	   *span = span_of(told, "process", "span", has_failed ? OF_FAILURE : OF_TRY);

	json_object_set_new(span, "kind", json_integer(SPAN_KIND_CONSUMER));
	if (parent[0] != '\0')
		json_object_set_new(span, "parentSpanId", json_string(parent));
	if (link[0] != '\0')
		json_object_set_new(span, "links", links_of(link));
	set_time(span, "startTimeUnixNano", integer_of(told, "start"));
	set_time(span, "endTimeUnixNano", integer_of(told, "end"));
	if (has_failed)
		json_object_set_new(span, "status", json_pack("{si}", "code", CODE_ERROR));
	return span;
}

/* It stands beside its try, or below one that has no parent. */
static json_t *
wait_of(const json_t *told)
{
	const char *parent = json_string_value(json_object_get(told, "parent"));
	json_t	   *span = span_of(told, "wait", "wait", OF_ALL);

	json_object_set_new(span, "kind", json_integer(SPAN_KIND_INTERNAL));
	json_object_set(span, "parentSpanId", json_object_get(told, parent[0] != '\0' ? "parent" : "span"));
	set_time(span, "startTimeUnixNano", integer_of(told, "start") - integer_of(told, "waited"));
	set_time(span, "endTimeUnixNano", integer_of(told, "start"));
	return span;
}

/* Copies the text of the value, and frees the value. */
static char *
take_text(json_t *value)
{
	char	   *text = json_dumps(value, JSON_COMPACT);
	char	   *copy = text == NULL ? NULL : pstrdup(text);

	free(text);
	json_decref(value);
	return copy;
}

static bool
is_whole(json_t *told)
{
	const char *trace,
			   *span,
			   *wait,
			   *parent,
			   *link,
			   *task,
			   *result,
			   *type;
	json_int_t	tries,
				waited,
				start,
				end;
	int			failed;

	return json_unpack(told, "{ssssssssssssssss sIsIsIsI sb}", "trace", &trace, "span", &span, "wait", &wait, "parent", &parent,
					   "link", &link, "task", &task, "result", &result, "type", &type,
					   "try", &tries, "waited", &waited, "start", &start, "end", &end, "failed", &failed) == 0 &&
		(link[0] == '\0' || strlen(link) == 49);
}

char *
trace_span_make(const char *line, size_t len)
{
	json_t	   *told = json_loadb(line, len, 0, NULL);
	char	   *text = told != NULL && is_whole(told) ? take_text(try_of(told)) : NULL;

	if (text != NULL && integer_of(told, "waited") >= 0)
	{
		char	   *wait = take_text(wait_of(told));
		char	   *both = psprintf("%s,%s", wait, text);

		pfree(wait);
		pfree(text);
		text = both;
	}
	json_decref(told);
	return text;
}

/* ---- the request around them ---- */

static void
add_resource(json_t *list, const char *name, const char *text)
{
	json_t	   *value = json_string(text);

	if (value != NULL)
		json_array_append_new(list, attribute(name, value));
	json_decref(value);
}

char *
trace_span_head(const TraceSettings *settings)
{
	json_t	   *list = json_array();
	char	   *text;
	char	   *head;

	add_resource(list, "service.name", settings->service);
	add_resource(list, "service.version", TWT_VERSION);
	add_resource(list, "service.instance.id", settings->node);
	add_resource(list, "deployment.environment.name", settings->environment);
	text = take_text(list);
	head = psprintf("{\"resourceSpans\":[{\"resource\":{\"attributes\":%s},\"scopeSpans\":[{\"scope\":"
					"{\"name\":\"twtasks\",\"version\":\"" TWT_VERSION "\"},\"spans\":[", text);
	pfree(text);
	return head;
}
