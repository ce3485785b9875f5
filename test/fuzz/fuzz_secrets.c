/*-------------------------------------------------------------------------
 *
 * fuzz_secrets.c
 *		Files of secrets and tokens, and what is signed with them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "input.h"
#include "options/secret_file.h"
#include "web/http_access.h"
#include "web/person_tokens.h"
#include "workers/curl/http_sign.h"

static void
sign(const HttpKeys *keys, const char *body)
{
	HttpSigned	what = {"v1", "head", body, strlen(body)};
	StringInfoData out;

	initStringInfo(&out);
	http_sign(keys, &what, &out);
	must(strncmp(out.data, "v1,", 3) == 0 && strpbrk(out.data, "\r\n") == NULL, "a signature is one header", out.data);
	pfree(out.data);
}

static void
read_keys(const char *path)
{
	char	   *reason = NULL;
	HttpKeys   *keys = http_keys_read(path, &reason);

	must((keys == NULL) == (reason != NULL), "a file without keys has a reason", "");
	if (keys != NULL)
		sign(keys, path);
	http_keys_free(keys);
	pfree(reason);
}

static void
read_tokens(const char *path)
{
	char	   *reason = NULL;
	PersonTokens *tokens = person_tokens_read(path, &reason);

	must((tokens == NULL) == (reason != NULL), "a file without tokens has a reason", "");
	if (tokens != NULL)
		(void) person_tokens_have(tokens, "a token");
	person_tokens_free(tokens);
	pfree(reason);
}

static void
read_lines(const char *path, const char *authorization)
{
	char	   *reason = NULL;
	char	  **lines = secret_file_read(path, &reason);

	must((lines == NULL) == (reason != NULL), "a file without lines has a reason", "");
	if (lines != NULL)
	{
		char	   *bearer = psprintf("Bearer %s", lines[0]);

		must(http_has_token(bearer, lines), "its first line is a token", "");
		(void) http_has_token(authorization, lines);
		pfree(bearer);
	}
	secret_file_forget(lines);
	pfree(reason);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	char	   *authorization = input_text(&input);
	const char *path = input_file((const char *) input.at, input.left);

	read_lines(path, authorization);
	read_keys(path);
	read_tokens(path);
	pfree(authorization);
	return 0;
}
