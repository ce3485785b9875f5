/*-------------------------------------------------------------------------
 *
 * http_client.c
 *		libcurl on our loop: many requests at once, none blocks.
 *
 * libcurl names the descriptors and the time to wait for, and we tell it which
 * events came.  libcurl closes descriptors itself, and asks us before to stop
 * watching them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "common/version.h"
#include "workers/curl/http_client.h"

struct HttpClient
{
	Loop	   *loop;
	CURLM	   *multi;
	LoopTimer  *timer;
	HttpDone	done;
	CURL	  **spare;			/* handles for reuse */
	int			nspare;
	int			max_spare;
};

/* Limits the answers of one turn, since reading one may take milliseconds. */
#define ANSWERS_A_TURN 16

/* A descriptor of libcurl that the loop watches. */
typedef struct Watch
{
	HttpClient *client;
	int			fd;
	LoopIo	   *io;
} Watch;

/* ---- memory ---- */

static void *
there_is(void *memory)
{
	if (memory == NULL)
		program_out_of_memory("http");
	return memory;
}

static void *
allocate(size_t size)
{
	return there_is(malloc(Max(size, 1)));
}

static void *
allocate_zeroed(size_t n, size_t size)
{
	return there_is(calloc(Max(n, 1), Max(size, 1)));
}

static void *
reallocate(void *old, size_t size)
{
	return there_is(realloc(old, Max(size, 1)));
}

static char *
copy_text(const char *text)
{
	return there_is(strdup(text));
}

void
http_client_begin(void)
{
	static bool has_begun = false;

	if (!has_begun)
		(void) curl_global_init_mem(CURL_GLOBAL_DEFAULT, allocate, free, reallocate, copy_text, allocate_zeroed);
	has_begun = true;
}

/* ---- events ---- */

/* Reports requests that have ended, and leaves the rest for another turn. */
static void
on_turn(void *arg)
{
	HttpClient *client = arg;
	CURLMsg    *message;
	int			left;

	for (int n = 0; n < ANSWERS_A_TURN &&
		 (message = curl_multi_info_read(client->multi, &left)) != NULL; n++)
	{
		CURL	   *easy = message->easy_handle;
		CURLcode	code = message->data.result;
		char	   *request;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &request);
		curl_multi_remove_handle(client->multi, easy);
		client->done(request, easy, code);
		loop_want_turn(client->loop);
	}
}

/* The watch may be gone after the call. */
static void
on_ready(void *arg, int ready)
{
	Watch	   *watch = arg;
	HttpClient *client = watch->client;
	int			running;

	curl_multi_socket_action(client->multi, watch->fd,
							 ready & LOOP_READ ? CURL_CSELECT_IN : CURL_CSELECT_OUT,
							 &running);
}

static void
on_timer(void *arg)
{
	HttpClient *client = arg;
	int			running;

	curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static void
unwatch(HttpClient *client, Watch *watch)
{
	if (watch == NULL)
		return;
	loop_io_free(watch->io);
	loop_defer_free(client->loop, watch);
}

static Watch *
new_watch(HttpClient *client, int fd)
{
	Watch	   *watch = palloc0(sizeof(Watch));

	watch->client = client;
	watch->fd = fd;
	watch->io = loop_io_new(client->loop, fd, on_ready, watch);
	curl_multi_assign(client->multi, fd, watch);
	return watch;
}

static int
on_socket(CURL * easy, curl_socket_t fd, int what, void *arg, void *data)
{
	HttpClient *client = arg;
	Watch	   *watch = data;

	if (what == CURL_POLL_REMOVE)
	{
		unwatch(client, watch);
		curl_multi_assign(client->multi, fd, NULL);
		return 0;
	}
	if (watch == NULL)
		watch = new_watch(client, fd);
	loop_io_want(watch->io, (what & CURL_POLL_IN ? LOOP_READ : 0) |
				 (what & CURL_POLL_OUT ? LOOP_WRITE : 0));
	return 0;
}

static int
on_timeout(CURLM * multi, long ms, void *arg)
{
	HttpClient *client = arg;

	if (ms < 0)
		loop_timer_stop(client->timer);
	else
		loop_timer_start(client->timer, MS_TO_US(ms));
	return 0;
}

HttpClient *
http_client_new(Loop *loop, HttpDone done)
{
	HttpClient *client = palloc0(sizeof(HttpClient));

	http_client_begin();
	client->loop = loop;
	client->done = done;
	client->timer = loop_timer_new(loop, on_timer, client);
	loop_on_turn(loop, on_turn, client);
	client->multi = curl_multi_init();
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	return client;
}

static void
free_spare(HttpClient *client, int n)
{
	while (client->nspare > n)
		curl_easy_cleanup(client->spare[--client->nspare]);
}

void
http_client_keep(HttpClient *client, int n)
{
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long) n);
	free_spare(client, n);
	client->spare = repalloc(client->spare, n * sizeof(CURL *));
	client->max_spare = n;
}

CURL *
http_client_get(HttpClient *client)
{
	return client->nspare > 0 ? client->spare[--client->nspare] : curl_easy_init();
}

void
http_client_put(HttpClient *client, CURL * easy)
{
	if (client->nspare == client->max_spare)
	{
		curl_easy_cleanup(easy);
		return;
	}
	curl_easy_reset(easy);
	client->spare[client->nspare++] = easy;
}

void
http_client_confine(CURL * easy)
{
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "twtasksd/" TWT_VERSION);
}

void
http_client_free(HttpClient *client)
{
	loop_off_turn(client->loop, on_turn, client);
	free_spare(client, 0);
	pfree(client->spare);
	curl_multi_cleanup(client->multi);
	loop_timer_free(client->timer);
	loop_defer_free(client->loop, client);
}

void
http_client_start(HttpClient *client, CURL * easy)
{
	/* a request that ends during a name lookup must not wait for it */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_multi_add_handle(client->multi, easy);
}

void
http_client_cancel(HttpClient *client, CURL * easy)
{
	curl_multi_remove_handle(client->multi, easy);
}
