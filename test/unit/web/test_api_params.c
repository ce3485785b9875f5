/*-------------------------------------------------------------------------
 *
 * test_api_params.c
 *		Parameters of the management API: each type, and what a request may not have.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "web/api/api_params.h"

struct HttpRequest
{
	const char *part;
	const char *name;			/* in the query, and its value */
	const char *value;
	const char *other;			/* another name there */
	const char *other_value;
	const char *if_match;
	const char *body;
};

const char *
http_part(const HttpRequest *request, int n)
{
	return n == 0 && request->part != NULL ? request->part : "";
}

bool
http_each_query(const HttpRequest *request, bool (*fn) (void *arg, const char *name, const char *value), void *arg)
{
	return request->name == NULL ||
		(fn(arg, request->name, request->value) &&
		 (request->other == NULL || fn(arg, request->other, request->other_value)));
}

const char *
http_header(const HttpRequest *request, const char *name)
{
	assert_string_equal(name, "If-Match");
	return request->if_match;
}

const char *
http_body(const HttpRequest *request, size_t *len)
{
	*len = request->body == NULL ? 0 : strlen(request->body);
	return request->body == NULL ? "" : request->body;
}

/* ---- single values ---- */

static const char *const colours[] = {"red", "green", "blue", NULL};

/* expected: the text for the database, or "! " and the fault. */
static void
expect_judged(ApiParam param, const char *text, const char *expected)
{
	char	   *value = pstrdup(text);
	char	   *fault = api_value_judge(&param, &value);
	char	   *said = fault != NULL ? psprintf("! %s", fault) : pstrdup(value);

	assert_string_equal(said, expected);
	pfree(said);
	pfree(fault);
	pfree(value);
}

static void
test_texts(void **state)
{
	ApiParam	text = {.type = API_TEXT};
	ApiParam	colour = {.type = API_TEXT, .words = colours};

	expect_judged(text, "", "");
	expect_judged(text, "a\nb \xc3\xa9", "a\nb \xc3\xa9");
	expect_judged(text, "\xc3", "! must be text in UTF-8");
	text.max = 2;
	expect_judged(text, "ab", "ab");
	expect_judged(text, "abc", "! must have at most 2 bytes");
	expect_judged(colour, "green", "green");
	expect_judged(colour, "Green", "! must be red, green or blue");
}

static void
test_numbers(void **state)
{
	ApiParam	integer = {.type = API_INTEGER};
	ApiParam	limit = {.type = API_INTEGER, .min = 1, .max = 200};
	ApiParam	number = {.type = API_NUMBER};

	expect_judged(integer, "-9223372036854775808", "-9223372036854775808");
	expect_judged(integer, "9223372036854775808", "! must be a whole number");
	expect_judged(integer, "", "! must be a whole number");
	expect_judged(integer, "-", "! must be a whole number");
	expect_judged(integer, "+1", "! must be a whole number");
	expect_judged(integer, " 1", "! must be a whole number");
	expect_judged(integer, "1.0", "! must be a whole number");
	expect_judged(integer, "1e3", "! must be a whole number");
	expect_judged(limit, "1", "1");
	expect_judged(limit, "200", "200");
	expect_judged(limit, "0", "! must be 1 to 200");
	expect_judged(limit, "201", "! must be 1 to 200");
	expect_judged(number, "12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890");
	expect_judged(number, "NaN", "! must be a number");
	expect_judged(number, "\"1\"", "! must be a number");
	expect_judged(number, "1e999", "! must be a number");
}

static void
test_others(void **state)
{
	ApiParam	uuid = {.type = API_UUID};
	ApiParam	uuids = {.type = API_UUIDS, .max = 2};
	ApiParam	boolean = {.type = API_BOOLEAN};
	ApiParam	time = {.type = API_TIME};
	ApiParam	interval = {.type = API_INTERVAL};
	ApiParam	json = {.type = API_JSON};

	expect_judged(uuid, "0193b0a0-0000-7000-8000-000000000001", "0193b0a0-0000-7000-8000-000000000001");
	expect_judged(uuid, "0193b0a0-0000-7000-8000-00000000000", "! must be a UUID");
	expect_judged(uuid, "{193b0a0-0000-7000-8000-000000000001", "! must be a UUID");
	expect_judged(uuid, "{0193B0A0000070008000000000000001}", "0193b0a0-0000-7000-8000-000000000001");
	expect_judged(uuids, "0193B0A0-0000-7000-8000-000000000001,{0193b0a0000070008000000000000002}",
				  "{0193b0a0-0000-7000-8000-000000000001,0193b0a0-0000-7000-8000-000000000002}");
	expect_judged(uuids, "0193b0a0000070008000000000000001,", "! must be a list of at most 2 UUIDs");
	expect_judged(uuids, "1,1,1", "! must be a list of at most 2 UUIDs");
	expect_judged(boolean, "true", "true");
	expect_judged(boolean, "t", "! must be true or false");
	expect_judged(time, "2031-05-06T07:08:09+02:00", "2031-05-06T07:08:09+02:00");
	expect_judged(time, "now", "! must be a time such as 2031-05-06T07:08:09Z");
	expect_judged(time, "2031-02-30T07:08:09Z", "! must be a time such as 2031-05-06T07:08:09Z");
	expect_judged(interval, "90 s", "90 s");
	expect_judged(interval, "", "! must be an interval such as 90 s");
	expect_judged(json, "{\"amount\": 1.10}", "{\"amount\": 1.10}");
	expect_judged(json, "{\"a\": 1, \"a\": 2}", "! must be JSON");
	expect_judged(json, "\"\\u0000\"", "! must be JSON");
	expect_judged(json, "\"\\ud800\"", "! must be JSON");
	expect_judged(json, "{", "! must be JSON");
}

static void
test_words(void **state)
{
	ApiParam	query = {.from = API_QUERY, .type = API_WORDS};
	ApiParam	body = {.from = API_BODY, .type = API_WORDS};

	expect_judged(query, "a,b c,", "{\"a\",\"b c\",\"\"}");
	expect_judged(query, "NULL", "{\"NULL\"}");
	expect_judged(query, "a\\\"{}", "{\"a\\\\\\\"{}\"}");
	expect_judged(query, "\xff", "! must be a list of at most 100 texts");
	expect_judged(body, "[\"a,b\", \"\\u00e9\"]", "{\"a,b\",\"\xc3\xa9\"}");
	expect_judged(body, "[]", "{}");
	expect_judged(body, "[1]", "! must be a list of texts");
	expect_judged(body, "[null]", "! must be a list of texts");
	query.max = 2;
	expect_judged(query, "a,b,c", "! must be a list of at most 2 texts");
	query.words = colours;
	expect_judged(query, "red,blue", "{\"red\",\"blue\"}");
	expect_judged(query, "red,pink", "! must be red, green or blue");
}

/* ---- requests ---- */

static const ApiParam params[] = {
	{"id", API_PATH, API_UUID, true},
	{"limit", API_QUERY, API_INTEGER, .min = 1, .max = 200},
	{"status", API_QUERY, API_WORDS},
	{"version", API_VERSION, API_INTEGER, true},
	{"reason", API_BODY, API_TEXT, true},
	{"amount", API_BODY, API_NUMBER},
	{"data", API_BODY, API_JSON},
};

static const ApiRoute route = {.params = params, .nparams = lengthof(params)};

#define ID "0193b0a0-0000-7000-8000-000000000001"

#define REQUEST(...) ((HttpRequest) {__VA_ARGS__})

/* expected: the values; or the word of the problem, and its detail. */
static void
expect(HttpRequest request, const char *expected)
{
	ApiValues	values;
	char	   *detail;
	const Problem *problem;
	StringInfoData said;

	if (request.part == NULL)
		request.part = ID;
	problem = api_params_read(&route, &request, &values, &detail);
	initStringInfo(&said);
	if (problem != NULL)
		appendStringInfo(&said, "%s: %s", problem->word, detail == NULL ? "" : detail);
	for (int i = 1; problem == NULL && i < values.n; i++)
		appendStringInfo(&said, "%s%s", i > 1 ? "|" : "", values.values[i] == NULL ? "-" : values.values[i]);
	assert_string_equal(said.data, expected);
	pfree(said.data);
	pfree(detail);
	api_values_clear(&values);
}

static void
test_requests(void **state)
{
	expect(REQUEST(.body = "{\"version\": 3, \"reason\": \"why\"}"), "-|-|3|why|-|-");
	expect(REQUEST(.body = "{\"version\": \"3\", \"reason\": \"why\", \"amount\": null}"), "-|-|3|why|-|-");
	expect(REQUEST(.if_match = "\"3\"", .body = "{\"reason\": \"why\", \"amount\": 0.10, \"data\": {\"n\": 1.10}}"),
		   "-|-|3|why|0.10|{\"n\": 1.10}");
	expect(REQUEST(.name = "limit", .value = "7", .other = "status", .other_value = "a,b", .if_match = "\"3\"", .body = "{\"reason\":\"w\"}"),
		   "7|{\"a\",\"b\"}|3|w|-|-");
	expect(REQUEST(.part = "1", .if_match = "\"3\"", .body = "{\"reason\":\"w\"}"), "bad_request: \"id\" must be a UUID.");
}

static void
test_unknown(void **state)
{
	expect(REQUEST(.name = "limits", .value = "7"), "bad_request: This route does not know the parameter \"limits\".");
	expect(REQUEST(.name = "reason", .value = "7"), "bad_request: This route does not know the parameter \"reason\".");
	expect(REQUEST(.name = "limit", .value = "7", .other = "limit", .other_value = "8"), "bad_request: The parameter \"limit\" is there twice.");
	expect(REQUEST(.body = "{\"limit\": 1}"), "bad_request: This route does not know the member \"limit\".");
	expect(REQUEST(.name = "limit", .value = "", .if_match = "\"3\"", .body = "{\"reason\":\"w\"}"),
		   "bad_request: \"limit\" must be a whole number.");
}

static void
test_bodies(void **state)
{
	expect(REQUEST(.if_match = "\"3\""), "bad_request: \"reason\" is missing.");
	expect(REQUEST(.if_match = "\"3\"", .body = "{\"reason\": \"\"}"), "bad_request: \"reason\" is missing.");
	expect(REQUEST(.body = "[]"), "bad_request: The body must be a JSON object, without repeated members.");
	expect(REQUEST(.body = "{\"reason\": \"a\", \"reason\": \"b\"}"), "bad_request: The body must be a JSON object, without repeated members.");
	expect(REQUEST(.body = "{\"reason\": \"\\u0000\"}"), "bad_request: The body has a NUL, which the database cannot store.");
	expect(REQUEST(.body = "{\"reason\": \"\xff\"}"), "bad_request: The body has bytes that are not UTF-8, which the database cannot store.");
	expect(REQUEST(.body = "{\"reason\": 1}"), "bad_request: The member \"reason\" must be a string.");
	expect(REQUEST(.body = "{\"amount\": true}"), "bad_request: The member \"amount\" must be a number.");
	expect(REQUEST(.body = "{\"\\u0072eason\": \"a\"}"), "bad_request: The name of the member \"reason\" must have no escapes.");
}

static void
test_versions(void **state)
{
	expect(REQUEST(.body = "{\"reason\": \"w\"}"), "no_version: ");
	expect(REQUEST(.if_match = "\"4\"", .body = "{\"version\": 3, \"reason\": \"w\"}"),
		   "bad_request: The body and the header If-Match name different versions.");
	expect(REQUEST(.if_match = "\"3\"", .body = "{\"version\": 3, \"reason\": \"w\"}"), "-|-|3|w|-|-");
	expect(REQUEST(.if_match = "\"\"", .body = "{\"reason\": \"w\"}"), "no_version: ");
	expect(REQUEST(.if_match = "*", .body = "{\"reason\": \"w\"}"), "bad_request: The header If-Match must be one ETag, as an answer had it.");
	expect(REQUEST(.if_match = "W/\"3\"", .body = "{\"reason\": \"w\"}"), "bad_request: The header If-Match must be one ETag, as an answer had it.");
	expect(REQUEST(.if_match = "\"3\", \"4\"", .body = "{\"reason\": \"w\"}"), "bad_request: The header If-Match must be one ETag, as an answer had it.");
	expect(REQUEST(.if_match = "\"x\"", .body = "{\"reason\": \"w\"}"), "bad_request: \"version\" must be a whole number.");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
