/*-------------------------------------------------------------------------
 *
 * test_person_tokens.c
 *		The file with the tokens of persons, and new tokens for it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>

#include "config_text.h"
#include "web/person_tokens.h"

/* The SHA-256 of TOKEN, and of a token that is too short. */
#define TOKEN "0123456789012345678901234567890123456789abc"
#define HASH "0e4b324f2be3289313804a4f5f32e26822753f7db985815dafa4932b9ba8f963"
#define OTHER_HASH "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
#define SHORT_TOKEN "foo"

static PersonTokens *
read_tokens(const char *text)
{
	char	   *reason = NULL;
	PersonTokens *tokens;

	write_file(text, strlen(text));
	tokens = person_tokens_read(file, &reason);
	if (tokens == NULL)
		fail_msg("refused: %s", reason);
	return tokens;
}

static void
expect_reason(const char *expected, const char *text)
{
	char	   *reason = NULL;

	write_file(text, strlen(text));
	assert_null(person_tokens_read(file, &reason));
	assert_string_equal(reason, expected);
	pfree(reason);
}

static void
test_lines(void **state)
{
	PersonTokens *tokens = read_tokens("# people\n\nalice viewer,payload=pay \t" HASH "\r\n"
									   "  bob operator " OTHER_HASH);
	const PersonToken *found = person_tokens_find(tokens, TOKEN);

	assert_int_equal(tokens->n, 2);
	assert_non_null(found);
	assert_string_equal(found->name, "alice");
	assert_string_equal(found->roles[0], "viewer");
	assert_string_equal(found->roles[1], "payload=pay");
	assert_null(found->roles[2]);
	assert_null(person_tokens_find(tokens, TOKEN "x"));
	assert_null(person_tokens_find(tokens, HASH));
	assert_null(person_tokens_find(tokens, ""));
	assert_true(person_tokens_have(tokens, TOKEN));
	assert_false(person_tokens_have(tokens, "bar"));
	person_tokens_free(tokens);
}

/* A word that a person chose could be guessed from its hash. */
static void
test_short_token(void **state)
{
	PersonTokens *tokens = read_tokens("bob operator " OTHER_HASH "\n");

	assert_null(person_tokens_find(tokens, SHORT_TOKEN));
	assert_true(person_tokens_have(tokens, SHORT_TOKEN));
	person_tokens_free(tokens);
}

#define FORM "it must be a name, roles and the SHA-256 of a token, as twtasks-web --new-token prints"
#define ROLE "a role is viewer, operator, payload or payload=ROLE"

static void
test_faults(void **state)
{
	expect_reason("the file is empty", "");
	expect_reason("the file is empty", "# nobody\n\n");
	expect_reason("line 3: " FORM, "# people\r\n\r\nalice viewer\r\n");
	expect_reason("line 1: " FORM, "alice " HASH "\n");
	expect_reason("line 1: " FORM, "alice viewer " HASH " more\n");
	expect_reason("line 1: " FORM, "alice viewer " HASH "0\n");
	expect_reason("line 2: " FORM, "bob viewer " OTHER_HASH "\nalice viewer x" HASH "\n");
	expect_reason("line 1: " FORM, "alice viewer g2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7a\n");
	expect_reason("line 1: " FORM, TOKEN "\n");
	expect_reason("line 1: " ROLE, "alice boss " HASH "\n");
	expect_reason("line 1: " ROLE, "alice viewer,,operator " HASH "\n");
	expect_reason("line 1: " ROLE, "alice , " HASH "\n");
	expect_reason("line 1: the name of a role has 1 to 63 bytes", "alice payload= " HASH "\n");
	expect_reason("line 1: a role cannot be named \"none\"", "alice payload=none " HASH "\n");
	expect_reason("line 2: the token is there twice", "alice viewer " HASH "\nbob viewer " HASH "\n");
	expect_reason("line 1: a name is text in UTF-8", "al\xffice viewer " HASH "\n");
	expect_reason("line 1: a name has no control characters", "al\aice viewer " HASH "\n");
}

static void
test_rights(void **state)
{
	char	   *reason = NULL;

	person_tokens_free(read_tokens("alice viewer " HASH "\n"));
	chmod(file, 0644);
	assert_null(person_tokens_read(file, &reason));
	assert_string_equal(reason, "the file must be root's or the daemon's own, and nobody else may read it");
	chmod(file, 0600);
	pfree(reason);
}

static void
test_long_name(void **state)
{
	char	   *name = palloc0(202);
	char	   *text;

	memset(name, 'n', 201);
	text = psprintf("%s viewer " HASH "\n", name);
	expect_reason("line 1: a name has 1 to 200 bytes", text);
	person_tokens_free(read_tokens(text + 1));
	pfree(text);
	pfree(name);
}

static void
expect_no_token(const char *expected, const char *name, const char *roles)
{
	StringInfoData token;
	StringInfoData line;
	const char *fault = NULL;

	initStringInfo(&token);
	initStringInfo(&line);
	assert_false(person_token_new(name, roles, &token, &line, &fault));
	assert_string_equal(fault, expected);
	pfree(token.data);
	pfree(line.data);
}

static void
test_new_token(void **state)
{
	StringInfoData token[2];
	StringInfoData line[2];
	const char *fault = NULL;
	PersonTokens *tokens;

	for (int i = 0; i < 2; i++)
	{
		initStringInfo(&token[i]);
		initStringInfo(&line[i]);
		assert_true(person_token_new("alice", "operator,payload", &token[i], &line[i], &fault));
		assert_int_equal(token[i].len, TOKEN_CHARS);
		assert_int_equal(strspn(token[i].data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
						 TOKEN_CHARS);
		assert_null(strstr(line[i].data, token[i].data));
	}
	assert_string_not_equal(token[0].data, token[1].data);
	tokens = read_tokens(line[0].data);
	assert_string_equal(person_tokens_find(tokens, token[0].data)->roles[1], "payload");
	assert_null(person_tokens_find(tokens, token[1].data));
	person_tokens_free(tokens);
	for (int i = 0; i < 2; i++)
	{
		pfree(token[i].data);
		pfree(line[i].data);
	}
	expect_no_token("a name has no spaces, and does not begin with #", "al ice", "viewer");
	expect_no_token("a name has no spaces, and does not begin with #", "#alice", "viewer");
	expect_no_token(FORM, "", "viewer");
	expect_no_token(FORM, "alice", "");
	expect_no_token(FORM, "alice", "viewer operator");
	expect_no_token(ROLE, "alice", "viewer,boss");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_short_token),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_new_token),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
