#include "base/port.h"

#include <curl/curl.h>

#include "base/text.h"
#include "base/foreign_json.h"
#include "workers/http/http_headers.h"
#include "base/trace.h"

/* Headers that libcurl makes, and headers that say what the request is. */
static const char *const reserved[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "TE",
	"Trailer", "Upgrade", "Idempotency-Key", "traceparent", "tracestate"
};

/* Common receivers keep no longer ones. */
#define IDEMPOTENCY_KEY_MAX 255

static const char *const reserved_prefixes[] = {"Twtasks-", "webhook-", "Proxy-"};

/* ---- the handler's own ---- */

static bool
is_reserved(const char *line, size_t len)
{
	for (int i = 0; i < (int) lengthof(reserved); i++)
		if (strlen(reserved[i]) == len && pg_strncasecmp(line, reserved[i], len) == 0)
			return true;
	for (int i = 0; i < (int) lengthof(reserved_prefixes); i++)
		if (pg_strncasecmp(line, reserved_prefixes[i], strlen(reserved_prefixes[i])) == 0)
			return true;
	return false;
}

const char *
http_headers_check(const char *line)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
	size_t		len = strspn(line, token);

	if (len == 0 || line[len] != ':' || line[len + 1 + strspn(line + len + 1, " \t")] == '\0')
		return "it must be NAME: VALUE";
	if (!text_is_printable(line))
		return "it must be printable ASCII";
	if (is_reserved(line, len))
		return "that header is not for the handler to set";
	return NULL;
}

/* ---- the task's ---- */

static void
add(struct curl_slist **list, const char *name, const char *value)
{
	char	   *line = psprintf("%s: %s", name, value);

	*list = curl_slist_append(*list, line);
	pfree(line);
}

static void
add_number(struct curl_slist **list, const char *name, int64 value)
{
	char		digits[32];

	snprintf(digits, sizeof(digits), INT64_FORMAT, value);
	add(list, name, digits);
}

/* Bytes that a header cannot carry are encoded as in a URL. */
static void
add_encoded(struct curl_slist **list, const char *name, const char *value)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *value; value++)
	{
		unsigned char c = *value;

		if (c <= 0x20 || c > 0x7e || c == '%')
			appendStringInfo(&text, "%%%02X", c);
		else
			appendStringInfoChar(&text, c);
	}
	add(list, name, text.data);
	pfree(text.data);
}

static void
add_context(struct curl_slist **list, const Task *task)
{
	Trace		trace;

	trace_init(&trace, task->context);
	if (trace.parent != NULL)
		add(list, "traceparent", trace.parent);
	if (trace.state != NULL)
		add(list, "tracestate", trace.state);
	if (trace.request_id != NULL)
		add(list, "X-Request-Id", trace.request_id);
	trace_clear(&trace);
}

static void
add_idempotency_key(struct curl_slist **list, const HttpHeaders *headers, const Task *task)
{
	char	   *own;

	if (headers->idempotency_key != NULL)
	{
		add_encoded(list, "Idempotency-Key", headers->idempotency_key);
		return;
	}
	own = psprintf("%s:" INT64_FORMAT, task->id_text, task->version);
	add(list, "Idempotency-Key", own);
	pfree(own);
}

static void
add_signature(struct curl_slist **list, const HttpHeaders *headers, const char *name,
			  const HttpSigned *what)
{
	StringInfoData signature;

	initStringInfo(&signature);
	http_sign(headers->keys, what, &signature);
	add(list, name, signature.data);
	pfree(signature.data);
}

/* Empty: the list has no such header. */
static const char *
value_of(const struct curl_slist *list, const char *name)
{
	size_t		len = strlen(name);

	for (; list != NULL; list = list->next)
		if (strncmp(list->data, name, len) == 0 && list->data[len] == ':')
			return list->data + len + 2;
	return "";
}

/* Version v2 signs these before the body. */
static char *
signed_lines(const struct curl_slist *list, const HttpHeaders *headers)
{
	static const char *const names[] = {
		"Twtasks-Id", "Twtasks-Version", "Twtasks-Type", "Twtasks-Sub-Type", "Twtasks-Tries", "Twtasks-Deadline",
		"Idempotency-Key"
	};
	StringInfoData lines;

	initStringInfo(&lines);
	appendStringInfo(&lines, "v2\n%s\n" INT64_FORMAT "\n", headers->url, headers->timestamp);
	for (int i = 0; i < (int) lengthof(names); i++)
		appendStringInfo(&lines, "%s\n", value_of(list, names[i]));
	return lines.data;
}

static void
add_signatures(struct curl_slist **list, const HttpHeaders *headers, const Task *task)
{
	HttpSigned	standard = {"v1", NULL, task->data, task->data_len};
	HttpSigned	whole = {"v2", NULL, task->data, task->data_len};
	char	   *head = psprintf("%s." INT64_FORMAT ".", task->id_text, headers->timestamp);
	char	   *lines = signed_lines(*list, headers);

	standard.head = head;
	whole.head = lines;
	add(list, "webhook-id", task->id_text);
	add_number(list, "webhook-timestamp", headers->timestamp);
	add_signature(list, headers, "webhook-signature", &standard);
	add_signature(list, headers, "Twtasks-Signature", &whole);
	pfree(head);
	pfree(lines);
}

/* Adds a header, unless the handler has one of that name. */
static void
add_default(struct curl_slist **list, const HttpHeaders *headers, const char *line)
{
	size_t		len = strcspn(line, ":") + 1;

	for (char **own = headers->more; own != NULL && *own != NULL; own++)
		if (pg_strncasecmp(*own, line, len) == 0)
			return;
	*list = curl_slist_append(*list, line);
}

struct curl_slist *
http_headers_make(const HttpHeaders *headers, const Task *task)
{
	struct curl_slist *list = NULL;

	add_default(&list, headers, task->is_binary ? "Content-Type: application/octet-stream" :
				"Content-Type: application/json");
	add_default(&list, headers, "Accept-Encoding: identity");
	add_idempotency_key(&list, headers, task);
	add(&list, "Twtasks-Id", task->id_text);
	add_number(&list, "Twtasks-Version", task->version);
	add(&list, "Twtasks-Type", task->type);
	if (task->sub_type != NULL && task->sub_type[0] != '\0')
		add_encoded(&list, "Twtasks-Sub-Type", task->sub_type);
	add_number(&list, "Twtasks-Tries", task->tries);
	add(&list, "Twtasks-Deadline", task->deadline_text);
	add_context(&list, task);
	if (headers->keys != NULL)
		add_signatures(&list, headers, task);
	for (char **line = headers->more; line != NULL && *line != NULL; line++)
		list = curl_slist_append(list, *line);

	/* libcurl would wait for permission to send a large body */
	list = curl_slist_append(list, "Expect:");
	return list;
}

/* ---- what the task's context names ---- */

static const char *
find_member(const Task *task, const char *name, char **value)
{
	const char *error = NULL;
	const json_t *named;
	json_t	   *context;
	ForeignJsonFault fault;

	*value = NULL;
	if (task->context == NULL)
		return NULL;
	if (strlen(task->context) > CONTEXT_READ_MAX)
		return "its context has more than 64 kB";
	context = foreign_json_load(task->context, strlen(task->context), NULL, &fault);
	named = json_object_get(context, name);
	if (context == NULL)
		error = "its context cannot be read";
	else if (json_is_string(named))
		*value = pstrdup(json_string_value(named));
	else if (named != NULL && !json_is_null(named))
		error = "it is no string";
	json_decref(context);
	return error;
}

const char *
http_headers_url(const Task *task, char **url)
{
	return find_member(task, "http_url", url);
}

/*
 * Most contexts name no key, so we look for its name before we read the JSON.  The
 * server writes the names of members without escapes.
 */
const char *
http_headers_key(const Task *task, char **key)
{
	const char *error;

	*key = NULL;
	if (task->context == NULL || strstr(task->context, "\"idempotency_key\"") == NULL)
		return NULL;
	error = find_member(task, "idempotency_key", key);
	if (*key == NULL || ((*key)[0] != '\0' && strlen(*key) <= IDEMPOTENCY_KEY_MAX))
		return error;
	pfree(*key);
	*key = NULL;
	return "it must have 1 to 255 bytes";
}
