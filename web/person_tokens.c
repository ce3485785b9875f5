#include "base/port.h"

#include <sys/random.h>

#include "common/cryptohash.h"
#include "options/secret_file.h"
#include "web/person_roles.h"
#include "web/person_tokens.h"

#define SPACES " \t"
#define FORM "it must be a name, roles and the SHA-256 of a token, as twtasks-web --new-token prints"

/* ---- hashes ---- */

static bool
hash_token(const char *token, uint8 *hash)
{
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(PG_SHA256);
	bool		is_fine = ctx != NULL && pg_cryptohash_init(ctx) >= 0 &&
		pg_cryptohash_update(ctx, (const uint8 *) token, strlen(token)) >= 0 &&
		pg_cryptohash_final(ctx, hash, TOKEN_HASH_BYTES) >= 0;

	pg_cryptohash_free(ctx);
	return is_fine;
}

static bool
is_same_hash(const uint8 *a, const uint8 *b)
{
	uint8		differs = 0;

	for (int i = 0; i < TOKEN_HASH_BYTES; i++)
		differs |= a[i] ^ b[i];
	return differs == 0;
}

static const PersonToken *
find_hash(const PersonTokens *tokens, const uint8 *hash)
{
	const PersonToken *found = NULL;

	for (int i = 0; i < tokens->n; i++)
		if (is_same_hash(hash, tokens->tokens[i].hash))
			found = &tokens->tokens[i];
	return found;
}

const PersonToken *
person_tokens_find(const PersonTokens *tokens, const char *token)
{
	uint8		hash[TOKEN_HASH_BYTES];

	return strlen(token) >= TOKEN_CHARS && hash_token(token, hash) ? find_hash(tokens, hash) : NULL;
}

bool
person_tokens_have(const PersonTokens *tokens, const char *token)
{
	uint8		hash[TOKEN_HASH_BYTES];

	return hash_token(token, hash) && find_hash(tokens, hash) != NULL;
}

/* ---- the file ---- */

static int
digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *found = c == '\0' ? NULL : strchr(digits, pg_tolower((unsigned char) c));

	return found == NULL ? -1 : (int) (found - digits);
}

static bool
read_hash(const char *text, uint8 *hash)
{
	if (strlen(text) != 2 * TOKEN_HASH_BYTES)
		return false;
	for (int i = 0; i < TOKEN_HASH_BYTES; i++)
	{
		int			high = digit(text[2 * i]);
		int			low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		hash[i] = high * 16 + low;
	}
	return true;
}

/* Takes the words apart; the last entry is NULL. */
static char **
split_roles(const char *text)
{
	char	  **roles = palloc0((strlen(text) + 2) * sizeof(char *));

	for (int n = 0;; n++)
	{
		size_t		len = strcspn(text, ",");

		roles[n] = pnstrdup(text, len);
		if (text[len] == '\0')
			return roles;
		text += len + 1;
	}
}

static const char *
find_role_fault(char *const *roles)
{
	const char *fault = NULL;

	for (; fault == NULL && *roles != NULL; roles++)
		fault = person_role_fault(*roles);
	return fault;
}

/* Changes the line.  Returns its fault; NULL: none. */
static const char *
read_line(char *line, const PersonTokens *others, PersonToken *token)
{
	char	   *rest = line;
	const char *name = strtok_r(line, SPACES, &rest);
	const char *roles = strtok_r(NULL, SPACES, &rest);
	const char *hash = strtok_r(NULL, SPACES, &rest);
	const char *fault;

	if (hash == NULL || strtok_r(NULL, SPACES, &rest) != NULL || !read_hash(hash, token->hash))
		return FORM;
	if (find_hash(others, token->hash) != NULL)
		return "the token is there twice";
	token->name = pstrdup(name);
	token->roles = split_roles(roles);
	fault = person_name_fault(name);
	return fault != NULL ? fault : find_role_fault(token->roles);
}

/* Returns the reason, palloc'd; NULL: all lines were read. */
static char *
read_lines(PersonTokens *tokens, char *const *lines)
{
	for (int i = 0; lines[i] != NULL; i++)
	{
		PersonToken token = {0};
		const char *fault = NULL;

		if (secret_file_is_comment(lines[i]))
			continue;
		fault = read_line(lines[i], tokens, &token);
		tokens->tokens[tokens->n++] = token;
		if (fault != NULL)
			return psprintf("line %d: %s", i + 1, fault);
	}
	return tokens->n == 0 ? pstrdup("the file is empty") : NULL;
}

PersonTokens *
person_tokens_read(const char *path, char **reason)
{
	char	  **lines = secret_file_read_all(path, reason);
	PersonTokens *tokens;
	int			n = 0;

	if (lines == NULL)
		return NULL;
	while (lines[n] != NULL)
		n++;
	tokens = palloc0(sizeof(PersonTokens));
	tokens->tokens = palloc0((n + 1) * sizeof(PersonToken));
	*reason = read_lines(tokens, lines);
	secret_file_forget(lines);
	if (*reason == NULL)
		return tokens;
	person_tokens_free(tokens);
	return NULL;
}

static void
free_tokens(PersonTokens *tokens)
{
	for (int i = 0; i < tokens->n; i++)
	{
		PersonToken *token = &tokens->tokens[i];

		for (int j = 0; token->roles != NULL && token->roles[j] != NULL; j++)
			pfree(token->roles[j]);
		pfree(token->roles);
		pfree(token->name);
	}
	pfree(tokens->tokens);
}

void
person_tokens_free(PersonTokens *tokens)
{
	if (tokens != NULL)
		free_tokens(tokens);
	pfree(tokens);
}

/* ---- a new token ---- */

static void
append_base64url(StringInfo out, const uint8 *bytes, int n)
{
	const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32		bits = 0;
	int			nbits = 0;

	for (int i = 0; i < n; i++)
	{
		bits = bits << 8 | bytes[i];
		for (nbits += 8; nbits >= 6; nbits -= 6)
			appendStringInfoChar(out, digits[bits >> (nbits - 6) & 63]);
	}
	if (nbits > 0)
		appendStringInfoChar(out, digits[bits << (6 - nbits) & 63]);
}

static bool
fill_token(StringInfo token, uint8 *hash)
{
	uint8		bytes[TOKEN_HASH_BYTES];
	bool		is_random = getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes);

	append_base64url(token, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	return is_random && hash_token(token->data, hash);
}

static void
append_line(StringInfo line, const char *name, const char *roles, const uint8 *hash)
{
	appendStringInfo(line, "%s %s ", name, roles);
	for (int i = 0; i < TOKEN_HASH_BYTES; i++)
		appendStringInfo(line, "%02x", hash[i]);
}

/* Reads the line as the file will be read. */
bool
person_token_new(const char *name, const char *roles, StringInfo token,
				 StringInfo line, const char **fault)
{
	PersonTokens tokens = {palloc0(sizeof(PersonToken)), 0};
	uint8		hash[TOKEN_HASH_BYTES];
	char	   *copy;

	if (strpbrk(name, SPACES) != NULL || name[0] == '#')
		*fault = "a name has no spaces, and does not begin with #";
	else if (!fill_token(token, hash))
		*fault = "the system gives no random bytes";
	else
	{
		append_line(line, name, roles, hash);
		copy = pstrdup(line->data);
		*fault = read_line(copy, &tokens, &tokens.tokens[0]);
		tokens.n = 1;
		pfree(copy);
	}
	free_tokens(&tokens);
	return *fault == NULL;
}
