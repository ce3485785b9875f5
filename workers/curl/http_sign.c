#include "base/port.h"

#include "common/base64.h"
#include "common/hmac.h"
#include "common/sha2.h"

#include "base/log.h"
#include "base/program.h"
#include "options/secret_file.h"
#include "workers/curl/http_sign.h"

#define PREFIX "whsec_"
#define KEY_MIN_BYTES 16

typedef struct Key
{
	uint8	   *bytes;
	int			len;
} Key;

struct HttpKeys
{
	Key		   *keys;
	int			n;
};

/* The fault of the line; NULL: none. */
static const char *
read_key(const char *line, Key *key)
{
	int			len = strlen(line);

	key->bytes = palloc0(len + 1);
	if (strncmp(line, PREFIX, strlen(PREFIX)) == 0)
		key->len = pg_b64_decode(line + strlen(PREFIX), len - strlen(PREFIX),
								 (void *) key->bytes, len);
	else
	{
		memcpy(key->bytes, line, len);
		key->len = len;
	}
	if (key->len < 0)
		return "what follows whsec_ is not base64";
	if (key->len < KEY_MIN_BYTES)
		return "a secret must have 16 bytes at least";
	return NULL;
}

HttpKeys *
http_keys_read(const char *path, char **reason)
{
	char	  **lines = secret_file_read(path, reason);
	HttpKeys   *keys;
	const char *error = NULL;
	int			n = 0;

	if (lines == NULL)
		return NULL;
	while (lines[n] != NULL)
		n++;
	keys = palloc0(sizeof(HttpKeys));
	keys->keys = palloc0(n * sizeof(Key));
	while (keys->n < n && error == NULL)
	{
		error = read_key(lines[keys->n], &keys->keys[keys->n]);
		keys->n++;
	}
	secret_file_forget(lines);
	if (error == NULL)
		return keys;
	*reason = psprintf("secret %d of the file: %s", keys->n, error);
	http_keys_free(keys);
	return NULL;
}

void
http_keys_free(HttpKeys *keys)
{
	if (keys == NULL)
		return;
	for (int i = 0; i < keys->n; i++)
	{
		explicit_bzero(keys->keys[i].bytes, Max(keys->keys[i].len, 0));
		pfree(keys->keys[i].bytes);
	}
	pfree(keys->keys);
	pfree(keys);
}

/* False: no memory, or no such algorithm. */
static bool
sign(const Key *key, const HttpSigned *what, uint8 *digest)
{
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);
	bool		is_fine = hmac != NULL &&
		pg_hmac_init(hmac, key->bytes, key->len) >= 0 &&
		pg_hmac_update(hmac, (const uint8 *) what->head, strlen(what->head)) >= 0 &&
		(what->len == 0 ||
		 pg_hmac_update(hmac, (const uint8 *) what->body, what->len) >= 0) &&
		pg_hmac_final(hmac, digest, PG_SHA256_DIGEST_LENGTH) >= 0;

	pg_hmac_free(hmac);
	return is_fine;
}

/* A request must not go without a signature: its receiver may refuse it for good. */
void
http_sign(const HttpKeys *keys, const HttpSigned *what, StringInfo out)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	char		text[64];

	for (int i = 0; i < keys->n; i++)
	{
		int			len;

		if (!sign(&keys->keys[i], what, digest))
		{
			log_line(TWT_LOG_FATAL, "http", "could not sign a request: out of memory, or no HMAC-SHA256");
			program_exit(EXIT_FAILURE);
		}
		len = pg_b64_encode((const void *) digest, sizeof(digest), text, sizeof(text));
		appendStringInfo(out, "%s%s,%.*s", out->len > 0 ? " " : "", what->version, Max(len, 0), text);
	}
}
