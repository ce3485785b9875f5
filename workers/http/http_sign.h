/*-------------------------------------------------------------------------
 *
 * http_sign.h
 *		Signatures of HTTP requests, as standardwebhooks.com has them.
 *
 * Signed is ID.TIMESTAMP.BODY by HMAC-SHA256.  The header holds one signature
 * for each secret, so that a secret can be replaced: both are there until the
 * receiver knows the new one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_SIGN_H
#define TWT_HTTP_SIGN_H

typedef struct HttpKeys HttpKeys;

/*
 * One secret per line of the file: "whsec_" and base64, or the bytes of the
 * line as they are; 16 bytes at least.  NULL, with a palloc'd reason, when it
 * cannot be.
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

/* Appends "v1,SIGNATURE", one for each secret, spaces between. */
extern void http_sign(const HttpKeys *keys, const HttpSigned *what,
					  StringInfo out);

#endif							/* TWT_HTTP_SIGN_H */
