/*-------------------------------------------------------------------------
 *
 * test_person.c
 *		The person behind a request, judged by its headers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "web/person.h"

#define TOKEN "0123456789012345678901234567890123456789abc"

/* The headers of the only request: names and values, in pairs. */
static const char *headers[20];

const char *
http_header(const HttpRequest *request, const char *name)
{
	(void) request;
	for (int i = 0; headers[i] != NULL; i += 2)
		if (pg_strcasecmp(headers[i], name) == 0)
			return headers[i + 1];
	return NULL;
}

static char *viewer[] = {"viewer", NULL};
static char *operator[] = {"operator", "payload=pay", "payload", NULL};
static char *payload[] = {"payload", NULL};
static PersonToken token;
static PersonTokens tokens = {&token, 1};
static ManageConfig config = {.tokens = &tokens};
static Persons *persons;

/* Gives the only token to the person. */
static void
give_token(char *name, char **roles)
{
	token.name = name;
	token.roles = roles;
}

static const Person *
ask(const char *authorization)
{
	const PersonRefusal *refusal;
	const Person *person;

	memset(headers, 0, sizeof(headers));
	if (authorization != NULL)
	{
		headers[0] = "Authorization";
		headers[1] = authorization;
	}
	person = persons_judge(persons, NULL, &refusal);
	assert_int_equal(person == NULL, refusal != NULL);
	if (refusal != NULL)
		assert_int_equal(refusal->status, 401);
	return person;
}

static void
test_token(void **state)
{
	const Person *person;

	give_token("alice", viewer);
	person = ask("Bearer " TOKEN);
	assert_non_null(person);
	assert_string_equal(person->name, "alice");
	assert_false(person->is_ambient);
	assert_non_null(ask("bearer " TOKEN));
	assert_null(ask(NULL));
	assert_null(ask(""));
	assert_null(ask("Bearer "));
	assert_null(ask("Bearer"));
	assert_null(ask(TOKEN));
	assert_null(ask("Basic " TOKEN));
	assert_null(ask("Bearer  " TOKEN));
	assert_null(ask("Bearer " TOKEN " "));
	assert_null(ask("Bearer " TOKEN "d"));
	assert_null(ask("Bearer 1123456789012345678901234567890123456789abc"));
}

static void
test_roles(void **state)
{
	const Person *person;

	give_token("alice", viewer);
	person = ask("Bearer " TOKEN);
	assert_string_equal(person->role[API_ANY], "twtasks_viewer");
	assert_string_equal(person->role[API_VIEWER], "twtasks_viewer");
	assert_null(person->role[API_OPERATOR]);
	assert_null(person->role[API_PAYLOAD]);
	give_token("bob", operator);
	person = ask("Bearer " TOKEN);
	assert_string_equal(person->role[API_VIEWER], "twtasks_viewer");
	assert_string_equal(person->role[API_OPERATOR], "twtasks_operator");
	assert_string_equal(person->role[API_PAYLOAD], "pay");
	give_token("carol", payload);
	person = ask("Bearer " TOKEN);
	assert_string_equal(person->role[API_ANY], "twtasks_payload_viewer");
	assert_null(person->role[API_VIEWER]);
	assert_null(person->role[API_OPERATOR]);
	assert_string_equal(person->role[API_PAYLOAD], "twtasks_payload_viewer");
}

/* A reload replaces the configuration, and a token may be gone. */
static void
test_reload(void **state)
{
	static const ManageConfig none;

	give_token("alice", viewer);
	assert_non_null(ask("Bearer " TOKEN));
	persons_set_config(persons, &none);
	assert_null(ask("Bearer " TOKEN));
	persons_set_config(persons, &config);
	assert_non_null(ask("Bearer " TOKEN));
}

static int
set_up(void **state)
{
	static const uint8 hash[] = {
		0x0e, 0x4b, 0x32, 0x4f, 0x2b, 0xe3, 0x28, 0x93, 0x13, 0x80, 0x4a, 0x4f, 0x5f, 0x32, 0xe2, 0x68, 0x22, 0x75, 0x3f, 0x7d, 0xb9, 0x85, 0x81, 0x5d, 0xaf, 0xa4, 0x93, 0x2b, 0x9b, 0xa8, 0xf9, 0x63
	};

	memcpy(token.hash, hash, sizeof(hash));
	persons = persons_open(NULL, &config);
	return 0;
}

static int
tear_down(void **state)
{
	persons_close(persons);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_reload),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
