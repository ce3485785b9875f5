/*-------------------------------------------------------------------------
 *
 * person_tokens.h
 *		The file with the tokens of persons, of which it holds only hashes.
 *
 *		from: manage_config.h			to: person.h
 *
 * Each line is NAME ROLES HASH: roles as person_roles.h has them, with commas, and
 * the SHA-256 of the token in hexadecimal digits.  A person may have several
 * tokens.  A token is TOKEN_CHARS characters of base64url at least, made of 256
 * random bits, so that a hash needs no salt.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_TOKENS_H
#define TWT_PERSON_TOKENS_H

#define TOKEN_CHARS 43
#define TOKEN_HASH_BYTES 32

typedef struct PersonToken
{
	char	   *name;
	char	  **roles;			/* NULL-terminated */
	uint8		hash[TOKEN_HASH_BYTES];
} PersonToken;

typedef struct PersonTokens
{
	PersonToken *tokens;
	int			n;
} PersonTokens;

/*
 * Reads a file that secret_file.h takes.  Returns NULL with a palloc'd reason,
 * which names the line and quotes nothing of it.
 */
extern PersonTokens *person_tokens_read(const char *path, char **reason) MUSTCHECK;
extern void person_tokens_free(PersonTokens *tokens);	/* NULL is allowed */

/*
 * Returns the entry of the token; NULL: none.  The time taken does not tell which
 * entry fits, nor how well.
 */
extern const PersonToken *person_tokens_find(const PersonTokens *tokens, const char *token);

/* The same for a token that may be short, as other files allow it. */
extern bool person_tokens_have(const PersonTokens *tokens, const char *token);

/*
 * Makes a token, and its line for the file.  Returns false, with the *fault, if a
 * name, a role or the system's entropy is not there.
 */
extern bool person_token_new(const char *name, const char *roles, StringInfo token,
							 StringInfo line, const char **fault) MUSTCHECK;

#endif							/* TWT_PERSON_TOKENS_H */
