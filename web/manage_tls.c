#include "base/port.h"

#include "web/manage_tls.h"

static const Option options[] = {
	{
		"certificate_file", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(TlsConfig, certificate_file),
		.help = "the server's certificate (PEM), with those between it and its root"
	},
	{
		"key_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(TlsConfig, key_file),
		.help = "its key (PEM), which nobody else may read"
	},
	{
		"client_ca_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(TlsConfig, client_ca_file),
		.help = "authorities (PEM) whose certificates clients may show"
	},
	{
		"clients", OPTION_SECTIONS, .section = &client_entry_section,
		.min = 1, .max = 1000,
		.offset = offsetof(TlsConfig, clients),
		.count_offset = offsetof(TlsConfig, nclients),
		.help = "clients who are logged in by a certificate"
	},
};

static bool
settle(void *target, const Place *place)
{
	TlsConfig  *config = target;
	char	   *reason = NULL;

	if (config->certificate_file == NULL)
		return (config->key_file == NULL && config->client_ca_file == NULL && config->nclients == 0) ||
			options_fail(place, "certificate_file", "the key is missing");
	if (config->key_file == NULL)
		return options_fail(place, "key_file", "the key is missing");
	if ((config->client_ca_file == NULL) != (config->nclients == 0))
		return options_fail(place, "clients", "clients and client_ca_file need each other");
	config->tls = http_tls_read(config->certificate_file, config->key_file, config->client_ca_file, &reason);
	if (config->tls != NULL)
		return true;
	(void) options_fail(place, "", "%s", reason);
	pfree(reason);
	return false;
}

static void
release(void *target)
{
	http_tls_free(((TlsConfig *) target)->tls);
}

const Section tls_section = {
	options, lengthof(options), sizeof(TlsConfig), settle, release
};
