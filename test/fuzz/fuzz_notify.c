/*-------------------------------------------------------------------------
 *
 * fuzz_notify.c
 *		Templates and messages of twtasks-notify, its settings, and spans of tries.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "base/text.h"
#include "input.h"
#include "workers/notify/notify_message.h"
#include "workers/notify/notify_queue.h"
#include "workers/notify/notify_template.h"
#include "workers/notify/trace_span.h"

/* Any values make JSON of a template that has passed its check. */
static void
render(const char *template, const char *value, bool has_markup)
{
	NotifyValues values = {.has_markup = has_markup};
	char	   *fault = notify_template_check(template);
	StringInfoData out;

	for (int i = 0; i < NAME_END; i++)
		values.of[i] = value;
	values.of[NAME_COUNT] = "1";
	initStringInfo(&out);
	if (fault == NULL)
	{
		notify_template_render(template, &values, &out);
		must(is_json(out.data), "a template makes JSON", out.data);
	}
	pfree(fault);
	pfree(out.data);
}

static NotifyTarget
some_target(void)
{
	return (NotifyTarget)
	{
		.name = "hook", .kind = notify_kind_find("webhook"), .url = "https://example.org/", .secret = "secret",
			.template = "{\"key\": \"${dedup_key}\", \"text\": \"${summary}: ${detail}\", \"count\": ${count}, \"url\": \"${url}\"}",
			.later = "{\"state\": \"${state}\"}"
	};
}

static void
send_message(const NotifyTarget *target, const NotifyMessage *message)
{
	NotifySettings settings = {.environment = "", .link = "https://example.org/{key}"};
	char	   *body = notify_message_body(&settings, target, message);
	char	   *url = notify_message_url(&settings, target, message);
	char	   *key = notify_dedup_key(&settings, message->fields);

	must(body == NULL || is_json(body), "a message is JSON", body);
	must(strlen(key) <= NOTIFY_DEDUP_MAX, "a key has its room", key);
	must(!text_is_utf8(key, 0) || strstr(url, "example.org") != NULL, "a URL keeps its host", url);
	pfree(body);
	pfree(url);
	pfree(key);
}

/* Each message of the list is sent and told of. */
static void
take_list(const char *text)
{
	json_t	   *list = json_loads(text, 0, NULL);
	NotifyTarget target = some_target();
	NotifyQueue *queue = notify_queue_new();
	NotifyMessage *message;
	int64		delay_us;

	if (json_is_array(list))
		(void) notify_queue_set(queue, list, 0);
	while ((message = notify_queue_start(queue, 0, &delay_us)) != NULL)
	{
		send_message(&target, message);
		notify_queue_end(queue, true, "fine", 0);
	}
	notify_queue_free(queue);
	json_decref(list);
}

static void
redact(const char *answer)
{
	NotifyTarget target = some_target();
	char	   *shown = notify_redact(&target, answer);

	must(strstr(shown, target.secret) == NULL, "an answer is shown without the secret", answer);
	pfree(shown);
}

static void
make_span(const char *line)
{
	char	   *spans = trace_span_make(line, strlen(line));
	char	   *list = psprintf("[%s]", spans != NULL ? spans : "");

	must(is_json(list), "spans are JSON", line);
	pfree(spans);
	pfree(list);
}

static void
read_settings(const char *line)
{
	WorkerFault fault = {0};
	NotifySettings *settings = notify_settings_new(line, &fault);
	TraceSettings *traces;

	must((settings == NULL) == (fault.reason != NULL), "settings that are refused have a reason", line);
	notify_settings_free(settings);
	pfree(fault.setting);
	pfree(fault.reason);
	memset(&fault, 0, sizeof(fault));
	traces = trace_settings_new(line, &fault);
	must((traces == NULL) == (fault.reason != NULL), "settings that are refused have a reason", line);
	if (traces != NULL)
		pfree(trace_span_head(traces));
	trace_settings_free(traces);
	pfree(fault.setting);
	pfree(fault.reason);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	bool		has_markup = input_choice(&input, 2) == 1;
	char	   *first = input_text(&input);
	char	   *second = input_text(&input);

	render(first, second, has_markup);
	redact(first);
	take_list(first);
	make_span(first);
	read_settings(first);
	pfree(first);
	pfree(second);
	return 0;
}
