/*-------------------------------------------------------------------------
 *
 * http_headers.c
 *		The headers of a task's HTTP request.
 *
 *		from: execute_http.c			to: libcurl
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include <curl/curl.h>
#include <jansson.h>

#include "http_headers.h"

#define TRACESTATE_MAX 512
#define REQUEST_ID_MAX 200

/* Those that libcurl makes, and those that say what the request is. */
static const char *const reserved[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "TE",
	"Trailer", "Upgrade", "Idempotency-Key", "traceparent", "tracestate"
};

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

static bool
is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char) *text < 0x20 || (unsigned char) *text > 0x7e)
			return false;
	return true;
}

const char *
http_headers_check(const char *line)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
	size_t		len = strspn(line, token);

	if (len == 0 || line[len] != ':' || line[len + 1 + strspn(line + len + 1, " \t")] == '\0')
		return "it must be NAME: VALUE";
	if (!is_printable(line))
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

/* Whatever a header cannot carry goes as in a URL. */
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

/* "00-", 32, "-", 16, "-" and 2 digits; of other versions more may follow. */
static bool
is_traceparent(const char *text)
{
	static const int parts[] = {2, 32, 16, 2};
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < (int) lengthof(parts); i++)
	{
		if (strspn(text, hex) != (size_t) parts[i])
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
		is_printable(text) ? text : NULL;
}

/* NULL: there is none, or it is no object. */
static json_t *
read_context(const Task *task)
{
	return task->context == NULL ? NULL : json_loads(task->context, 0, NULL);
}

static void
add_context(struct curl_slist **list, const Task *task)
{
	json_t	   *context = read_context(task);
	const char *parent = get_text(context, "traceparent", 55);
	const char *state = get_text(context, "tracestate", TRACESTATE_MAX);
	const char *request = get_text(context, "request_id", REQUEST_ID_MAX);

	if (parent != NULL && is_traceparent(parent))
	{
		add(list, "traceparent", parent);
		if (state != NULL)
			add(list, "tracestate", state);
	}
	if (request != NULL)
		add(list, "X-Request-Id", request);
	json_decref(context);
}

static void
add_signature(struct curl_slist **list, const HttpHeaders *headers,
			  const Task *task)
{
	StringInfoData signature;
	HttpSigned	what = {
		.id = task->id_text,
		.timestamp = headers->timestamp,
		.body = task->data,
		.len = task->data_len
	};

	initStringInfo(&signature);
	http_sign(headers->keys, &what, &signature);
	add(list, "webhook-id", task->id_text);
	add_number(list, "webhook-timestamp", headers->timestamp);
	add(list, "webhook-signature", signature.data);
	pfree(signature.data);
}

static bool
has_content_type(const HttpHeaders *headers)
{
	for (char **line = headers->more; line != NULL && *line != NULL; line++)
		if (pg_strncasecmp(*line, "Content-Type:", 13) == 0)
			return true;
	return false;
}

struct curl_slist *
http_headers_make(const HttpHeaders *headers, const Task *task)
{
	struct curl_slist *list = NULL;
	char	   *key = psprintf("%s:" INT64_FORMAT, task->id_text, task->version);

	if (!has_content_type(headers))
		add(&list, "Content-Type",
			task->is_binary ? "application/octet-stream" : "application/json");
	add(&list, "Idempotency-Key", key);
	add(&list, "Twtasks-Id", task->id_text);
	add_number(&list, "Twtasks-Version", task->version);
	add(&list, "Twtasks-Type", task->type);
	if (task->sub_type != NULL && task->sub_type[0] != '\0')
		add_encoded(&list, "Twtasks-Sub-Type", task->sub_type);
	add_number(&list, "Twtasks-Tries", task->tries);
	add(&list, "Twtasks-Deadline", task->deadline_text);
	add_context(&list, task);
	if (headers->keys != NULL)
		add_signature(&list, headers, task);
	for (char **line = headers->more; line != NULL && *line != NULL; line++)
		list = curl_slist_append(list, *line);

	/* libcurl would wait for leave to send a large body */
	list = curl_slist_append(list, "Expect:");
	pfree(key);
	return list;
}

char *
http_headers_url(const Task *task)
{
	json_t	   *context = read_context(task);
	const char *url = json_string_value(json_object_get(context, "http_url"));
	char	   *copy = url == NULL ? NULL : pstrdup(url);

	json_decref(context);
	return copy;
}
