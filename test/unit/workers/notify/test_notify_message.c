/*-------------------------------------------------------------------------
 *
 * test_notify_message.c
 *		Each kind of target gets what its vendor documents, and no answer has a secret.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "workers/notify/notify_message.h"

#define SECRET "canary-of-the-routing-key"

static char secret_path[] = "/tmp/twtasks-notify-XXXXXX";

static NotifySettings *
settings_of(const char *target, const char *more)
{
	WorkerFault fault = {NULL, NULL};
	char	   *line = psprintf("{\"hello\":1,\"node\":\"n\",\"settings\":{\"targets\":[{\"name\":\"t\",%s}]%s}}", target, more);
	NotifySettings *settings = notify_settings_new(line, &fault);

	if (settings == NULL)
		fail_msg("%s: %s", fault.setting, fault.reason);
	pfree(line);
	return settings;
}

static NotifySettings *
with_secret(const char *kind)
{
	char	   *target = psprintf("\"kind\":\"%s\",\"url\":\"http://127.0.0.1/u\",\"secret_file\":\"%s\"", kind, secret_path);
	NotifySettings *settings = settings_of(target, ",\"environment\":\"prod\",\"link\":\"https://t.example/i/{key}?x\"");

	pfree(target);
	return settings;
}

static NotifyQueue *
queue_of(const char *state, const char *severity)
{
	NotifyQueue *queue = notify_queue_new();
	json_t	   *list = json_pack("[{sIsssIsssssssssIssss}]", "incident", (json_int_t) 7, "state", state, "repeat", (json_int_t) 0,
								 "key", "error/PAY|A", "severity", severity, "summary", "12 \"tasks\" fail", "detail", "boom",
								 "count", (json_int_t) 12, "since", "2026-11-26T09:00:00+00:00", "database", "app");

	(void) notify_queue_set(queue, list, 0);
	json_decref(list);
	return queue;
}

/* The member at a path of names, separated by slashes. */
static const char *
text_at(const json_t *json, const char *path)
{
	char	   *copy = pstrdup(path);
	char	   *rest = copy;
	char	   *name;

	while ((name = strsep(&rest, "/")) != NULL)
		json = json_is_array(json) ? json_array_get(json, 0) : json_object_get(json, name);
	pfree(copy);
	return json_string_value(json);
}

static json_t *
message_of(const NotifySettings *settings, const char *state, const char *severity)
{
	NotifyQueue *queue = queue_of(state, severity);
	char	   *body = notify_message_body(settings, &settings->targets[0], notify_queue_next(queue, NULL));
	json_t	   *json = json_loads(body, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(json);
	pfree(body);
	notify_queue_free(queue);
	return json;
}

static void
expect_text(const NotifySettings *settings, const char *state, const char *path, const char *text)
{
	json_t	   *json = message_of(settings, state, "page");

	assert_string_equal(text_at(json, path), text);
	json_decref(json);
}

/* As https://developer.pagerduty.com/docs/events-api-v2 has it. */
static void
test_pagerduty(void **state)
{
	NotifySettings *settings = with_secret("pagerduty");
	json_t	   *json = message_of(settings, "open", "page");

	assert_string_equal(text_at(json, "routing_key"), SECRET);
	assert_string_equal(text_at(json, "event_action"), "trigger");
	assert_string_equal(text_at(json, "dedup_key"), "prod/error/PAY|A");
	assert_string_equal(text_at(json, "payload/summary"), "12 \"tasks\" fail");
	assert_string_equal(text_at(json, "payload/severity"), "critical");
	assert_string_equal(text_at(json, "payload/source"), "app");
	assert_string_equal(text_at(json, "links/0/href"), "https://t.example/i/error%2FPAY%7CA?x");
	assert_null(json_object_get(json_object_get(json_object_get(json, "payload"), "custom_details"), "hint"));
	json_decref(json);
	expect_text(settings, "refresh", "event_action", "trigger");
	expect_text(settings, "acknowledge", "event_action", "acknowledge");
	expect_text(settings, "resolve", "event_action", "resolve");
	json = message_of(settings, "open", "ticket");
	assert_string_equal(text_at(json, "payload/severity"), "warning");
	json_decref(json);
	notify_settings_free(settings);
}

static void
test_without_link(void **state)
{
	char	   *target = psprintf("\"kind\":\"pagerduty\",\"secret_file\":\"%s\"", secret_path);
	NotifySettings *settings = settings_of(target, "");
	json_t	   *json = message_of(settings, "open", "page");

	assert_string_equal(settings->targets[0].url, "https://events.pagerduty.com/v2/enqueue");
	assert_int_equal(json_array_size(json_object_get(json, "links")), 0);
	assert_null(json_object_get(json, "client_url"));
	assert_string_equal(text_at(json, "dedup_key"), "app/error/PAY|A");
	json_decref(json);
	notify_settings_free(settings);
	pfree(target);
}

static void
test_splunk(void **state)
{
	NotifySettings *settings = settings_of("\"kind\":\"splunk-oncall\",\"url\":\"http://127.0.0.1/k/r\"", "");
	json_t	   *json = message_of(settings, "refresh", "ticket");

	assert_string_equal(text_at(json, "message_type"), "WARNING");
	assert_string_equal(text_at(json, "entity_id"), "app/error/PAY|A");
	json_decref(json);
	expect_text(settings, "open", "message_type", "CRITICAL");
	expect_text(settings, "acknowledge", "message_type", "ACKNOWLEDGEMENT");
	expect_text(settings, "resolve", "message_type", "RECOVERY");
	notify_settings_free(settings);
}

static void
expect_url(const NotifySettings *settings, const char *state, const char *expected)
{
	NotifyQueue *queue = queue_of(state, "page");
	char	   *url = notify_message_url(settings, &settings->targets[0], notify_queue_next(queue, NULL));

	assert_string_equal(url, expected);
	pfree(url);
	notify_queue_free(queue);
}

static void
test_opsgenie(void **state)
{
	static const char *const kinds[] = {"opsgenie", "jira-service-management"};

	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		NotifySettings *settings = with_secret(kinds[i]);

		expect_text(settings, "open", "alias", "prod/error/PAY|A");
		expect_text(settings, "open", "priority", "P1");
		expect_text(settings, "resolve", "note", "resolve: 12 \"tasks\" fail");
		expect_url(settings, "refresh", "http://127.0.0.1/u");
		expect_url(settings, "acknowledge", "http://127.0.0.1/u/prod%2Ferror%2FPAY%7CA/acknowledge?identifierType=alias");
		expect_url(settings, "resolve", "http://127.0.0.1/u/prod%2Ferror%2FPAY%7CA/close?identifierType=alias");
		assert_string_equal(settings->targets[0].kind->authorization, "GenieKey");
		notify_settings_free(settings);
	}
}

static void
test_others(void **state)
{
	NotifySettings *settings = settings_of("\"kind\":\"alertmanager\",\"url\":\"http://127.0.0.1/api/v2/alerts\"", "");
	json_t	   *json = message_of(settings, "resolve", "page");

	assert_int_equal(json_array_size(json), 1);
	assert_string_equal(text_at(json, "0/labels/key"), "error/PAY|A");
	assert_string_equal(text_at(json, "0/labels/alertname"), "twtasks");
	assert_non_null(text_at(json, "0/endsAt"));
	json_decref(json);
	notify_settings_free(settings);

	settings = settings_of("\"kind\":\"slack\",\"url\":\"http://127.0.0.1/s\"", "");
	json = message_of(settings, "acknowledge", "page");
	assert_non_null(strstr(text_at(json, "text"), "*ACKNOWLEDGED*"));
	json_decref(json);
	notify_settings_free(settings);

	settings = settings_of("\"kind\":\"command\",\"command\":[\"/bin/true\",\"a\",\"a\"]", "");
	assert_string_equal(settings->targets[0].argv[2], "a");
	expect_text(settings, "open", "id", "7/open/0");
	notify_settings_free(settings);
}

static void
test_long_key(void **state)
{
	NotifySettings *settings = settings_of("\"kind\":\"slack\",\"url\":\"http://127.0.0.1/s\"", "");
	char		key[400];
	char	   *first;
	char	   *second;
	json_t	   *fields;

	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	fields = json_pack("{ssss}", "database", "app", "key", key);
	first = notify_dedup_key(settings, fields);
	assert_int_equal(strlen(first), NOTIFY_DEDUP_MAX);
	key[sizeof(key) - 2] = 'x';
	json_object_set_new(fields, "key", json_string(key));
	second = notify_dedup_key(settings, fields);
	assert_string_not_equal(first, second);
	json_decref(fields);
	pfree(first);
	pfree(second);
	notify_settings_free(settings);
}

static void
test_redacted(void **state)
{
	NotifySettings *settings = with_secret("pagerduty");
	char	   *answer = notify_redact(&settings->targets[0], "HTTP 400: bad " SECRET "," SECRET "!");

	assert_string_equal(answer, "HTTP 400: bad ***,***!");
	pfree(answer);
	notify_settings_free(settings);
}

static int
make_secret(void **state)
{
	int			fd = mkstemp(secret_path);

	return write(fd, SECRET "\n", strlen(SECRET) + 1) < 0 || close(fd) != 0;
}

static int
remove_secret(void **state)
{
	return unlink(secret_path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pagerduty),
		cmocka_unit_test(test_without_link),
		cmocka_unit_test(test_splunk),
		cmocka_unit_test(test_opsgenie),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_long_key),
		cmocka_unit_test(test_redacted),
	};

	return cmocka_run_group_tests(tests, make_secret, remove_secret);
}
