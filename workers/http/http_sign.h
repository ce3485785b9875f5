/*-------------------------------------------------------------------------
 *
 * http_sign.h
 *		Signatures of HTTP requests, as standardwebhooks.com has them.
 *
 * HMAC-SHA256 signs ID.TIMESTAMP.BODY.  The header holds one signature for
 * each secret.  While a secret is being replaced, the file has both, until the
 * receiver knows the new one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_SIGN_H
#define TWT_HTTP_SIGN_H

typedef struct HttpKeys HttpKeys;

/*
 * Reads one secret per line of the file: "whsec_" and base64, or the bytes of
 * the line as they are; 16 bytes at least.  Returns NULL on failure, with a
 * palloc'd reason.
 */
extern HttpKeys *http_keys_read(const char *path, char **reason) MUSTCHECK;
extern void http_keys_free(HttpKeys *keys);

/* The signed parts of a request. */
typedef struct HttpSigned
{
	const char *id;
	int64		timestamp;		/* seconds since 1970 */
	const char *body;
	size_t		len;
} HttpSigned;

/* Appends "v1,SIGNATURE" for each secret, separated by spaces. */
extern void http_sign(const HttpKeys *keys, const HttpSigned *what,
					  StringInfo out);

#endif							/* TWT_HTTP_SIGN_H */
