#include "base/port.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

#include "base/text.h"
#include "options/secret_file.h"
#include "web/http_tls.h"

struct HttpTls
{
	int			refs;
	char	   *certificate;	/* PEM */
	char	   *key;
	gnutls_certificate_credentials_t credentials;
	bool		asks_clients;
};

/* ---- files ---- */

static char *
read_key(const char *path, char **reason)
{
	char	  **lines = secret_file_read(path, reason);
	StringInfoData text;

	if (lines == NULL)
		return NULL;
	initStringInfo(&text);
	for (int i = 0; lines[i] != NULL; i++)
		appendStringInfo(&text, "%s\n", lines[i]);
	secret_file_forget(lines);
	return text.data;
}

static char *
read_certificate(const char *path, char **reason)
{
	gnutls_datum_t file;
	int			status = gnutls_load_file(path, &file);
	char	   *text;

	if (status < 0)
	{
		*reason = psprintf("could not read \"%s\": %s", path, gnutls_strerror(status));
		return NULL;
	}
	text = pnstrdup((const char *) file.data, file.size);
	gnutls_free(file.data);
	return text;
}

static gnutls_datum_t
datum(char *text)
{
	return (gnutls_datum_t)
	{
		(unsigned char *) text, strlen(text)
	};
}

static bool
take_pair(HttpTls *tls, const char *certificate_file, const char *key_file, char **reason)
{
	gnutls_datum_t certificate;
	gnutls_datum_t key;
	int			status;

	tls->key = read_key(key_file, reason);
	if (tls->key == NULL)
		return false;
	tls->certificate = read_certificate(certificate_file, reason);
	if (tls->certificate == NULL)
		return false;
	certificate = datum(tls->certificate);
	key = datum(tls->key);
	status = gnutls_certificate_set_x509_key_mem(tls->credentials, &certificate, &key,
												 GNUTLS_X509_FMT_PEM);
	if (status < 0)
		*reason = psprintf("certificate and key do not fit: %s", gnutls_strerror(status));
	return status >= 0;
}

static bool
take_authorities(HttpTls *tls, const char *path, char **reason)
{
	int			n;

	if (path == NULL)
		return true;
	tls->asks_clients = true;
	n = gnutls_certificate_set_x509_trust_file(tls->credentials, path, GNUTLS_X509_FMT_PEM);
	if (n <= 0)
		*reason = psprintf("could not read authorities from \"%s\": %s", path,
						   n == 0 ? "there is none" : gnutls_strerror(n));
	return n > 0;
}

HttpTls *
http_tls_read(const char *certificate_file, const char *key_file, const char *client_ca_file,
			  char **reason)
{
	HttpTls    *tls;

	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
	{
		*reason = pstrdup("this libmicrohttpd has no TLS");
		return NULL;
	}
	tls = palloc0(sizeof(HttpTls));
	tls->refs = 1;
	gnutls_certificate_allocate_credentials(&tls->credentials);
	if (take_pair(tls, certificate_file, key_file, reason) &&
		take_authorities(tls, client_ca_file, reason))
		return tls;
	http_tls_free(tls);
	return NULL;
}

HttpTls *
http_tls_share(HttpTls *tls)
{
	tls->refs++;
	return tls;
}

void
http_tls_free(HttpTls *tls)
{
	if (tls == NULL || --tls->refs > 0)
		return;
	gnutls_certificate_free_credentials(tls->credentials);
	text_forget(tls->key);
	pfree(tls->certificate);
	pfree(tls);
}

const char *
http_tls_certificate(const HttpTls *tls)
{
	return tls->certificate;
}

const char *
http_tls_key(const HttpTls *tls)
{
	return tls->key;
}

/* ---- sessions ---- */

void
http_tls_begin(const HttpTls *tls, void *session)
{
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
	gnutls_certificate_server_set_request(session, tls->asks_clients ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
}

/* An authority may sign certificates of servers too, which are not for login. */
static bool
is_good(gnutls_session_t session)
{
	gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *) GNUTLS_KP_TLS_WWW_CLIENT, 0};
	unsigned int status;

	return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0;
}

static bool
get_name(gnutls_x509_crt_t certificate, int i, char *name, size_t size)
{
	size_t		len = size;

	return gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, i, 0, name, &len) == 0 &&
		len > 0 && strlen(name) == len;
}

static char *
read_name(const gnutls_datum_t * der)
{
	gnutls_x509_crt_t certificate;
	char		name[256] = "";
	char		other[256] = "";
	size_t		len = sizeof(other);
	bool		is_one;

	if (gnutls_x509_crt_init(&certificate) < 0)
		return NULL;
	is_one = gnutls_x509_crt_import(certificate, der, GNUTLS_X509_FMT_DER) == 0 &&
		get_name(certificate, 0, name, sizeof(name)) &&
		gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 1, 0, other, &len) ==
		GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
	gnutls_x509_crt_deinit(certificate);
	return is_one ? pstrdup(name) : NULL;
}

char *
http_tls_common_name(void *session)
{
	unsigned int n = 0;
	const		gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);

	return chain != NULL && n > 0 && is_good(session) ? read_name(&chain[0]) : NULL;
}
