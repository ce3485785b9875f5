#include "base/port.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "workers/http/http_headers.h"
#include "workers/http/http_post.h"
#include "workers/http/http_reply.h"

/* Bytes of the headers of an answer that are read. */
#define HEADERS_MAX (64 * 1024)

/*
 * Common servers close a connection that is idle for five seconds.  A request
 * that meets the close would be lost.
 */
#define KEPT_SECONDS 4L

/* A sidecar takes messages of 64 kB, of which the database keeps less. */
#define MESSAGE_MAX (48 * 1024)

#define SHORT "too few descriptors, or too little memory"

int64
http_post_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000;
}

/* ---- the answer ---- */

static bool
is_wanted_json(const HttpPost *post)
{
	long		status;
	char	   *type;

	curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(post->easy, CURLINFO_CONTENT_TYPE, &type);
	return status >= 200 && status < 300 && http_is_json(type);
}

static void
take_json(HttpPost *post, const char *bytes, size_t n)
{
	if (post->json.data == NULL)
		initStringInfo(&post->json);
	appendBinaryStringInfo(&post->json, bytes, n);
}

static size_t
on_body(char *bytes, size_t size, size_t n, void *arg)
{
	HttpPost   *post = arg;

	n *= size;
	if (post->received + n > HTTP_ANSWER_MAX)
	{
		post->stopped = STOPPED_LONG;
		return 0;
	}
	post->received += n;
	if (is_wanted_json(post))
		take_json(post, bytes, n);
	output_add(&post->body, bytes, n);
	return n;
}

static size_t
on_header(char *bytes, size_t size, size_t n, void *arg)
{
	HttpPost   *post = arg;

	post->header_bytes += n * size;
	return post->header_bytes > HEADERS_MAX ? 0 : n * size;
}

static const char *
describe_failure(const HttpPost *post, CURLcode code)
{
	if (post->stopped == STOPPED_TWICE)
		return "the kept connection was closed without an answer";
	return post->is_short ? SHORT : curl_easy_strerror(code);
}

/* An answer that we stopped reading still has its status. */
HttpPostEnd
http_post_end(HttpPost *post, CURLcode code)
{
	if (post->stopped == STOPPED_OLD)
		return HTTP_POST_AGAIN;
	if (post->stopped == STOPPED_LATE)
		return HTTP_POST_LATE;
	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && post->stopped == STOPPED_LONG))
		return HTTP_POST_ANSWERED;
	if (post->error[0] == '\0' || post->stopped == STOPPED_TWICE || post->is_short)
		strlcpy(post->error, describe_failure(post, code), sizeof(post->error));
	if (post->is_sent)
		return HTTP_POST_NO_ANSWER;
	if (post->is_short)
		return HTTP_POST_SHORT;
	return post->address == ADDRESS_REFUSED ? HTTP_POST_REFUSED : HTTP_POST_NOT_SENT;
}

/* ---- the conditions ---- */

static int
make_socket(HttpPost *post, int family, int type, int protocol)
{
	int			fd = socket(family, type | SOCK_CLOEXEC, protocol);

	post->is_short |= fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
	return fd;
}

/* Checks the very address to which libcurl connects. */
static curl_socket_t
on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	HttpPost   *post = arg;

	if (post->must_be_public && !http_address_is_public(&address->addr))
	{
		post->address = Max(post->address, ADDRESS_REFUSED);
		return CURL_SOCKET_BAD;
	}
	post->address = ADDRESS_ALLOWED;
	return make_socket(post, address->family, address->socktype, address->protocol);
}

/*
 * Runs at the last moment before the request is sent, and again before libcurl
 * sends it once more, for whatever reason.
 */
static int
on_connected(void *arg, char *remote, char *local, int remote_port,
			 int local_port)
{
	HttpPost   *post = arg;
	bool		is_late = loop_now_us(post->loop) >= post->start_by_us;

	if (post->is_sent && (is_late || !post->may_resend))
	{
		post->stopped = STOPPED_TWICE;
		return CURL_PREREQFUNC_ABORT;
	}
	if (post->must_be_public && !http_ip_is_public(remote))
	{
		if (!post->is_fresh)
			post->stopped = STOPPED_OLD;
		return CURL_PREREQFUNC_ABORT;
	}
	if (is_late)
	{
		post->stopped = STOPPED_LATE;
		return CURL_PREREQFUNC_ABORT;
	}
	post->is_sent = true;
	return CURL_PREREQFUNC_OK;
}

/* ---- the request ---- */

static void
set_task(HttpPost *post, const HttpSettings *settings, const Task *task)
{
	CURL	   *easy = post->easy;
	char	   *url = http_url_text(&post->url);
	HttpHeaders headers = {
		.keys = http_settings_keys(settings, &post->url),
		.url = url,
		.idempotency_key = post->key,
		.more = post->is_own_host ? settings->headers : NULL,
		.timestamp = http_post_now_us() / 1000000
	};

	post->headers = http_headers_make(&headers, task);
	pfree(url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, post->headers);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) task->data_len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, task->data ? task->data : "");

	/*
	 * A kept connection may close just when it is used.  The only try must
	 * not end by that.
	 */
	if (task->max_tries == 1)
	{
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
}

static void
set_callbacks(HttpPost *post)
{
	CURL	   *easy = post->easy;

	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, post->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, post);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, post);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, post);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, post);
}

static void
set_limits(HttpPost *post, const HttpSettings *settings)
{
	CURL	   *easy = post->easy;

	http_client_confine(easy);
	curl_easy_setopt(easy, CURLOPT_CURLU, post->url.handle);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long) (settings->connect_timeout_us / 1000));
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, KEPT_SECONDS);
	if (settings->ca_file != NULL)
	{
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
}

static const char *
fault(HttpPost *post, const char *of, const char *error)
{
	snprintf(post->error, sizeof(post->error), "cannot send %s that the task names: %s", of, error);
	return post->error;
}

const char *
http_post_init(HttpPost *post, const HttpSettings *settings, const Task *task)
{
	char	   *named = NULL;
	const char *error = NULL;

	output_init(&post->body, Min(settings->max_output, MESSAGE_MAX));
	if (settings->hosts[0] != NULL)
		error = http_headers_url(task, &named);
	if (error == NULL)
		error = http_settings_choose(settings, named, &post->url);
	pfree(named);
	if (error != NULL)
		return fault(post, "to the URL", error);
	error = http_headers_key(task, &post->key);
	if (error != NULL)
		return fault(post, "the idempotency key", error);
	post->is_own_host = http_url_is_same_host(&post->url, &settings->url);
	post->may_resend = settings->may_resend;
	post->must_be_public = !post->is_own_host && settings->is_public_only;
	return NULL;
}

/* libcurl keeps them among its own answers, and looks up no name that it has. */
void
http_post_set_addresses(HttpPost *post, const char *addresses)
{
	char	   *line = psprintf("+%s:%d:%s", post->url.host, post->url.port, addresses);

	post->addresses = curl_slist_append(NULL, line);
	pfree(line);
}

/* A resolver that lacks descriptors may say that there is no such name. */
bool
http_post_not_found(HttpPost *post, const char *error)
{
	int			fd = make_socket(post, AF_INET, SOCK_DGRAM, 0);

	if (fd >= 0)
		close(fd);
	strlcpy(post->error, post->is_short ? SHORT : error, sizeof(post->error));
	return post->is_short;
}

bool
http_post_start(HttpPost *post, HttpClient *client, const HttpSettings *settings,
				const Task *task, void *arg)
{
	post->easy = http_client_get(client);
	if (post->easy == NULL)
		return false;
	set_task(post, settings, task);
	set_callbacks(post);
	set_limits(post, settings);
	curl_easy_setopt(post->easy, CURLOPT_RESOLVE, post->addresses);
	curl_easy_setopt(post->easy, CURLOPT_PRIVATE, arg);
	http_client_start(client, post->easy);
	return true;
}

void
http_post_restart(HttpPost *post, HttpClient *client)
{
	post->stopped = STOPPED_NOT;
	post->is_fresh = true;
	curl_easy_setopt(post->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(post->easy, CURLOPT_RESOLVE, post->addresses);
	http_client_start(client, post->easy);
}

void
http_post_clear(HttpPost *post, HttpClient *client)
{
	if (post->easy != NULL)
		http_client_put(client, post->easy);
	curl_slist_free_all(post->headers);
	curl_slist_free_all(post->addresses);
	http_url_clear(&post->url);
	pfree(post->key);
	output_clear(&post->body);
	pfree(post->json.data);
}
