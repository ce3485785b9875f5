#include "base/port.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "workers/curl/http_url.h"

#define URL_MAX_BYTES 8192
#define HOST_MAX_BYTES 255

#define BAD_PATTERN \
	"it must be HOST or HOST:PORT, with \"*.\" before it for all names below and \"http://\" for plain HTTP"

/* An address and how much of it counts. */
typedef struct Network
{
	uint8		bytes[16];
	int			bits;
} Network;

/* Addresses outside of the public Internet. */
static const Network networks4[] = {
	{{0}, 8},					/* this network */
	{{10}, 8},					/* private */
	{{100, 64}, 10},			/* a provider's */
	{{127}, 8},					/* this machine */
	{{169, 254}, 16},			/* link; metadata of clouds */
	{{172, 16}, 12},			/* private */
	{{192, 0, 0}, 24},			/* protocols */
	{{192, 168}, 16},			/* private */
	{{198, 18}, 15},			/* benchmarks */
	{{224}, 3},					/* groups, reserved, broadcast */
};

static const Network networks6[] = {
	{{0}, 8},					/* none, this machine, IPv4 as written of old */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48}, /* translation, local */
	{{0x01}, 8},				/* discard */
	{{0x20, 0x01}, 32},			/* Teredo: an IPv4 address in disguise */
	{{0xfc}, 7},				/* private */
	{{0xfe, 0x80}, 10},			/* link */
	{{0xfe, 0xc0}, 10},			/* site */
	{{0xff}, 8},				/* groups */
};

/* IPv6 addresses that embed an IPv4 address, and its offset. */
static const struct
{
	Network		network;
	int			at;
}			embedded[] = {
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12},
	{{{0x00, 0x64, 0xff, 0x9b}, 96}, 12},
	{{{0x20, 0x02}, 16}, 2},
};

/* ---- URLs ---- */

static bool
get_part(CURLU * handle, CURLUPart part, unsigned int flags, char **value)
{
	char	   *text;

	if (curl_url_get(handle, part, &text, flags) != CURLUE_OK)
		return false;
	*value = pstrdup(text);
	curl_free(text);
	return true;
}

static void
lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text += 'a' - 'A';
}

static bool
is_host(const char *host)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t		len = strlen(host);

	if (len == 0 || len > HOST_MAX_BYTES)
		return false;
	if (host[0] == '[')
		return host[1 + strspn(host + 1, "0123456789abcdef:.")] == ']' &&
			host[len - 1] == ']';
	return strspn(host, name) == len && host[0] != '.' && host[0] != '-';
}

static const char *
read_parts(HttpUrl *url)
{
	char	   *scheme = NULL;
	char	   *port = NULL;
	char	   *zone = NULL;
	const char *error = NULL;

	if (!get_part(url->handle, CURLUPART_SCHEME, 0, &scheme) ||
		(strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
		error = "it must begin with https:// or http://";
	else if (!get_part(url->handle, CURLUPART_HOST, 0, &url->host) ||
			 !get_part(url->handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port))
		error = "it has no host";
	else if (get_part(url->handle, CURLUPART_ZONEID, 0, &zone))
		error = "an address must not have a zone";
	if (error == NULL)
	{
		url->is_https = strcmp(scheme, "https") == 0;
		url->port = (int) strtol(port, NULL, 10);
		lower(url->host);
		if (!is_host(url->host) || curl_url_set(url->handle, CURLUPART_HOST, url->host, 0) != CURLUE_OK)
			error = "its host must be an ASCII name or an address";
		else
			(void) curl_url_set(url->handle, CURLUPART_FRAGMENT, NULL, 0);
	}
	pfree(scheme);
	pfree(port);
	pfree(zone);
	return error;
}

const char *
http_url_parse(const char *text, HttpUrl *url)
{
	const char *error;
	CURLUcode	code;

	memset(url, 0, sizeof(*url));
	if (strlen(text) > URL_MAX_BYTES)
		return "it is too long";
	url->handle = curl_url();
	if (url->handle == NULL)
		return "out of memory";
	code = curl_url_set(url->handle, CURLUPART_URL, text, CURLU_DISALLOW_USER);
	if (code == CURLUE_USER_NOT_ALLOWED)
		error = "a user name or password must not be in it";
	else if (code == CURLUE_UNSUPPORTED_SCHEME)
		error = "it must begin with https:// or http://";
	else if (code != CURLUE_OK)
		error = "it is no URL";
	else
		error = read_parts(url);
	if (error != NULL)
		http_url_clear(url);
	return error;
}

const char *
http_url_copy(const HttpUrl *from, HttpUrl *to)
{
	*to = *from;
	to->handle = curl_url_dup(from->handle);
	to->host = pstrdup(from->host);
	return to->handle == NULL ? "out of memory" : NULL;
}

void
http_url_clear(HttpUrl *url)
{
	if (url->handle != NULL)
		curl_url_cleanup(url->handle);
	pfree(url->host);
	memset(url, 0, sizeof(*url));
}

char *
http_url_text(const HttpUrl *url)
{
	char	   *text = NULL;

	(void) get_part(url->handle, CURLUPART_URL, CURLU_NO_DEFAULT_PORT, &text);
	return text != NULL ? text : pstrdup("");
}

bool
http_url_has_name(const HttpUrl *url)
{
	struct in_addr address;

	return url->host[0] != '[' && inet_pton(AF_INET, url->host, &address) != 1;
}

bool
http_url_is_same_host(const HttpUrl *a, const HttpUrl *b)
{
	return a->is_https == b->is_https && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* ---- patterns ---- */

/* Reads a pattern as a URL; *below: it stands for all names below its host. */
static bool
parse_pattern(const char *pattern, HttpUrl *url, bool *below)
{
	bool		is_plain = strncmp(pattern, "http://", 7) == 0;
	const char *rest = pattern + (is_plain ? 7 : 0);
	char	   *text;
	bool		is_fine;

	*below = strncmp(rest, "*.", 2) == 0;
	if (*below)
		rest += 2;
	if (strlen(rest) > HOST_MAX_BYTES || strpbrk(rest, "/?#@* ") != NULL)
		return false;
	text = psprintf("%s://%s/", is_plain ? "http" : "https", rest);
	is_fine = http_url_parse(text, url) == NULL;
	pfree(text);
	return is_fine;
}

const char *
http_url_check_pattern(const char *pattern)
{
	HttpUrl		url;
	bool		below;

	if (!parse_pattern(pattern, &url, &below))
		return BAD_PATTERN;
	http_url_clear(&url);
	return NULL;
}

/* Whether host is a name below other. */
static bool
is_below(const char *host, const char *other)
{
	size_t		len = strlen(host);
	size_t		other_len = strlen(other);

	return len > other_len + 1 && host[len - other_len - 1] == '.' &&
		strcmp(host + len - other_len, other) == 0;
}

bool
http_url_fits(const HttpUrl *url, const char *pattern)
{
	HttpUrl		wanted;
	bool		below;
	bool		fits;

	if (!parse_pattern(pattern, &wanted, &below))
		return false;
	fits = url->is_https == wanted.is_https && url->port == wanted.port &&
		(below ? is_below(url->host, wanted.host) :
		 strcmp(url->host, wanted.host) == 0);
	http_url_clear(&wanted);
	return fits;
}

/* ---- addresses ---- */

static bool
is_in(const uint8 *address, const Network *network)
{
	int			whole = network->bits / 8;
	int			rest = network->bits % 8;

	if (memcmp(address, network->bytes, whole) != 0)
		return false;
	return rest == 0 ||
		((address[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

static bool
is_public4(const uint8 *address)
{
	for (int i = 0; i < (int) lengthof(networks4); i++)
		if (is_in(address, &networks4[i]))
			return false;
	return true;
}

static bool
is_public6(const uint8 *address)
{
	for (int i = 0; i < (int) lengthof(embedded); i++)
		if (is_in(address, &embedded[i].network))
			return is_public4(address + embedded[i].at);
	for (int i = 0; i < (int) lengthof(networks6); i++)
		if (is_in(address, &networks6[i]))
			return false;
	return true;
}

bool
http_address_is_public(const struct sockaddr *address)
{
	switch (address->sa_family)
	{
		case AF_INET:
			return is_public4((const uint8 *)
							  &((const struct sockaddr_in *) address)->sin_addr);
		case AF_INET6:
			return is_public6((const uint8 *)
							  &((const struct sockaddr_in6 *) address)->sin6_addr);
		default:
			return false;
	}
}

bool
http_ip_is_public(const char *text)
{
	uint8		address[16];

	if (inet_pton(AF_INET, text, address) == 1)
		return is_public4(address);
	return inet_pton(AF_INET6, text, address) == 1 && is_public6(address);
}
