/*-------------------------------------------------------------------------
 *
 * test_notify_template.c
 *		A value breaks out of no template, wherever it stands.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "check.h"
#include "workers/notify/notify_template.h"

static void
expect(const char *template, const NotifyValues *values, const char *message)
{
	StringInfoData out;

	initStringInfo(&out);
	notify_template_render(template, values, &out);
	assert_string_equal(out.data, message);
	pfree(out.data);
}

static void
expect_fault(const char *template, const char *reason)
{
	char	   *fault = notify_template_check(template);

	assert_non_null(fault);
	assert_string_equal(fault, reason);
	pfree(fault);
}

static void
test_inside(void **state)
{
	NotifyValues values = {.of = {[NAME_SUMMARY] = "a \"b\" \\ \n c",[NAME_KEY] = "k"}};

	expect("{\"a\": \"${summary}-${key}\"}", &values, "{\"a\": \"a \\\"b\\\" \\\\ \\n c-k\"}");
	expect("{\"a\\\"${key}\": \"\\\\\", \"b\": ${key}}", &values, "{\"a\\\"k\": \"\\\\\", \"b\": \"k\"}");
	expect("[\"${hint}\"]", &values, "[\"\"]");
}

static void
test_outside(void **state)
{
	static const char *const texts[] = {"", "1,\"x\":2", "01", "-1", "1e9", "}", "\"", "999999999999999999999"};
	NotifyValues number = {.of = {[NAME_COUNT] = "12"}};

	for (size_t i = 0; i < lengthof(texts); i++)
	{
		NotifyValues values = {.of = {[NAME_COUNT] = texts[i]}};
		StringInfoData out;
		json_t	   *json;

		initStringInfo(&out);
		notify_template_render("{\"count\": ${count}}", &values, &out);
		json = json_loads(out.data, 0, NULL);
		assert_string_equal(json_string_value(json_object_get(json, "count")), texts[i]);
		json_decref(json);
		pfree(out.data);
	}
	expect("[${count}]", &number, "[12]");
}

/* For any value the message has the same members and that value. */
static void
test_random(void **state)
{
	static const char template[] = "{\"a\": \"x${detail}y\", \"b\": ${detail}, \"c\": {\"d\": \"${detail}\"}}";
	static const char letters[] = "\"\\{}[]:,$\n\t<&ax7";
	Chance		chance;

	chance_init(&chance, test_seed());
	for (int round = 0; round < 2000; round++)
	{
		char		value[12] = "";
		NotifyValues values = {.of = {[NAME_DETAIL] = value}};
		StringInfoData out;
		json_t	   *json;
		const char *inner;

		for (size_t i = 0; i < sizeof(value) - 1; i++)
			value[i] = letters[chance_below(&chance, sizeof(letters))];
		initStringInfo(&out);
		notify_template_render(template, &values, &out);
		json = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
		assert_int_equal(json_object_size(json), 3);
		inner = json_string_value(json_object_get(json_object_get(json, "c"), "d"));
		assert_string_equal(inner, value);
		json_decref(json);
		pfree(out.data);
	}
}

static void
test_markup(void **state)
{
	NotifyValues values = {.of = {[NAME_SUMMARY] = "<!channel> & co"}, .has_markup = true};

	expect("{\"text\": \"${summary}\"}", &values, "{\"text\": \"&lt;!channel&gt; &amp; co\"}");
}

static void
test_faults(void **state)
{
	expect_fault("{\"a\": \"${payload}\"}", "the template has an unknown name: ${payload}");
	expect_fault("{\"a\": \"${summary\"}", "the template has an unknown name: ${summary\"}");
	expect_fault("{\"a\": }", "the template does not make JSON: line 1: unexpected token near '}'");
	assert_null(notify_template_check("{\"a\": \"${summary}\", \"n\": ${count}}"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_markup),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
