/*-------------------------------------------------------------------------
 *
 * http_sign.h
 *		Signatures of HTTP requests.
 *
 * HMAC-SHA256 signs a head and the body.  Two versions have heads of their own:
 *
 *	 v1		ID.TIMESTAMP. as standardwebhooks.com has it
 *	 v2		lines that also say where the request goes, and for which try; see
 *			http_headers.h
 *
 * A header holds one signature for each secret.  While a secret is being replaced,
 * the file has both, until the receiver knows the new one.
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
	const char *version;
	const char *head;
	const char *body;
	size_t		len;
} HttpSigned;

/* Appends "VERSION,SIGNATURE" for each secret, separated by spaces. */
extern void http_sign(const HttpKeys *keys, const HttpSigned *what,
					  StringInfo out);

#endif							/* TWT_HTTP_SIGN_H */
