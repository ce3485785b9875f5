/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-web: its parts put together, from start to orderly end.
 *
 * Other pages and calls would be further tables of routes, opened here like
 * the results.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/program.h"
#include "base/sdnotify.h"
#include "common/version.h"
#include "options/config_file.h"
#include "process/bundled.h"
#include "process/reaper.h"
#include "process/supervisor.h"
#include "web/api/api.h"
#include "web/api/openapi.h"
#include "web/http.h"
#include "web/pages.h"
#include "web/person.h"
#include "web/results.h"
#include "web/to_do.h"
#include "web/web_config.h"
#include "web/web_health.h"
#include "web/web_metrics.h"
#include "web/web_silence.h"

/* Time limit for requests that have begun, when the program stops. */
#define DRAIN_US SECONDS_TO_US(12)

typedef struct Web
{
	const char *config_path;
	WebConfig  *config;
	Loop	   *loop;
	Http	   *http;
	Persons    *persons;
	Api		   *api;			/* NULL: nobody may use it */
	Pages	   *pages;			/* the same */
	Results    *results;
	ToDo	   *to_do;
	WebHealth  *health;
	WebMetrics *metrics;
	WebSilence *silence;
	Reload	   *reload;
	LoopTimer  *drain_end;
	bool		is_stopping;
} Web;

static const char usage[] =
"twtasks-web takes results of background tasks, and shows to-do items, by HTTP.\n"
"\n"
"Usage:\n"
"  twtasks-web --config FILE [--check-config | --print-config]\n"
"  twtasks-web --new-token NAME ROLES\n"
"\n"
"Options:\n"
"  -c, --config FILE   the configuration (YAML)\n"
"      --check-config  say whether FILE is right, and exit\n"
"      --print-config  print all options in force, and exit\n"
"      --new-token     make a token for a person: it goes to stderr, and its line for\n"
"                      the token_file of manage to stdout; ROLES as in viewer,payload\n"
"      --openapi       print the description of the management API, and exit\n"
"  -V, --version       print the version, and exit\n"
"  -h, --help          print this, and exit\n"
"\n"
"Signals:\n"
"  TERM, INT  stop when requests that have begun are answered; a second one: at once\n"
"  HUP        read FILE and the tokens again; if FILE is wrong, go on with the old one\n"
"\n"
"Exit status: 0 stopped in order, 2 wrong arguments, 3 wrong configuration,\n"
"4 the system lacks something that a start needs.\n";

/* Log lines carry the machine's name, to tell several instances apart. */
static void
start_log(const void *config)
{
	const LogConfig *log = &((const WebConfig *) config)->log;
	char		host[256] = "";

	(void) gethostname(host, sizeof(host) - 1);
	log_init(log->format, log->level, host);
}

static void
on_stop(void *arg)
{
	Web		   *web = arg;

	if (web->is_stopping)
	{
		log_line(TWT_LOG_WARN, "main", "told twice: stopping at once");
		loop_stop(web->loop);
		return;
	}
	web->is_stopping = true;
	log_line(TWT_LOG_INFO, "main", "stopping");
	sdnotify_stopping();
	http_stop_listening(web->http);
	web_silence_stop(web->silence);
	loop_timer_start(web->drain_end, DRAIN_US);
	loop_want_turn(web->loop);
}

static void
on_drain_end(void *arg)
{
	loop_stop(((Web *) arg)->loop);
}

static void
on_turn(void *arg)
{
	Web		   *web = arg;

	web_silence_pump(web->silence);
	if (web->is_stopping && http_requests(web->http) == 0 && web_silence_is_down(web->silence))
		loop_stop(web->loop);
}

/* Once there, the routes stay: without a way to log in, they refuse everybody. */
static void
open_api(Web *web)
{
	if (web->api != NULL || !manage_is_wanted(&web->config->manage))
		return;
	web->api = api_open(web->loop, web->config->postgres, &web->config->manage, web->persons, web->http);
	web->pages = pages_open(web->http);
}

static void
write_api_counts(void *arg, StringInfo out)
{
	Web		   *web = arg;

	if (web->api != NULL)
		api_write_counts(web->api, out);
}

/* The names of hosts are checked where a page may log somebody in. */
static void
set_access(Web *web, const WebConfig *config)
{
	http_set_tls(web->http, config->manage.tls.tls);
	http_set_tokens(web->http, config->tokens);
	http_limit(web->http, config->connections_of_one, config->proxies);
	http_set_hosts(web->http, manage_is_wanted(&config->manage), config->manage.hosts);
}

static void
apply(void *arg, void *taken)
{
	Web		   *web = arg;
	WebConfig  *config = taken;

	set_access(web, config);
	http_end_streams(web->http);
	persons_set_config(web->persons, &config->manage);
	to_do_set_config(web->to_do, config);
	web_metrics_set_config(web->metrics, config);
	web_silence_set_config(web->silence, config);
	if (web->api != NULL)
		api_set_config(web->api, &config->manage);
	options_free(&web_config_section, web->config);
	web->config = config;
	open_api(web);
}

static const ConfigFile file = {usage, &web_config_section, NULL, start_log, apply, NULL};

/* ---- start and end ---- */

static void
open_parts(Web *web)
{
	web->http = http_open(web->loop, web->config->listen, web->config->tokens);
	if (web->config->manage.socket != NULL)
		http_listen_unix(web->http, web->config->manage.socket);
	set_access(web, web->config);
	web->persons = persons_open(web->loop, &web->config->manage);
	open_api(web);
	web->results = results_open(web->loop, web->config, web->http);
	web->to_do = to_do_open(web->loop, web->config, web->http);
	web->health = web_health_open(web->http, web->results, web->to_do, web->persons);
	web->metrics = web_metrics_open(web->loop, web->config, web->http);
	web_metrics_add(web->metrics, write_api_counts, web);
	web->silence = web_silence_open(web->loop, web->config);
	web->drain_end = loop_timer_new(web->loop, on_drain_end, web);
	sdnotify_watch_open(web->loop);
	loop_on_turn(web->loop, on_turn, web);
	loop_on_signal(web->loop, SIGTERM, on_stop, web);
	loop_on_signal(web->loop, SIGINT, on_stop, web);
	web->reload = reload_open(web->loop, &file, web->config_path, web->config, web);
}

static void
close_parts(Web *web)
{
	loop_off_turn(web->loop, on_turn, web);
	reload_close(web->reload);
	web_silence_close(web->silence);
	web_metrics_close(web->metrics);
	to_do_close(web->to_do);
	results_close(web->results);
	if (web->api != NULL)
		api_stop(web->api);
	http_close(web->http);
	if (web->api != NULL)
		api_close(web->api);
	pages_close(web->pages);
	persons_close(web->persons);
	web_health_close(web->health);
	sdnotify_watch_close();
	loop_timer_free(web->drain_end);
	loop_free(web->loop);
	options_free(&web_config_section, web->config);
}

static int
run(Web *web)
{
	program_prepare();
	program_raise_descriptors();
	sdnotify_init();
	log_line(TWT_LOG_INFO, "main", "twtasks-web %s starting", TWT_VERSION);
	if (!supervisor_is_possible())
	{
		log_line(TWT_LOG_FATAL, "main", "this kernel is too old: Linux 5.4 or newer is needed");
		return EXIT_NO_RESOURCES;
	}
	web->loop = loop_new();
	if (web->loop == NULL)
	{
		log_line(TWT_LOG_FATAL, "main", "could not make the event loop: %m");
		return EXIT_NO_RESOURCES;
	}
	reaper_open(web->loop);
	open_parts(web);
	sdnotify_ready();
	loop_run(web->loop);
	close_parts(web);
	log_line(TWT_LOG_INFO, "main", "stopped");
	program_exit(EXIT_FINE);
}

static int
make_token(const char *name, const char *roles)
{
	StringInfoData token;
	StringInfoData line;
	const char *fault = NULL;

	initStringInfo(&token);
	initStringInfo(&line);
	if (!person_token_new(name, roles, &token, &line, &fault))
	{
		fprintf(stderr, "twtasks-web: %s\n", fault);
		return EXIT_BAD_ARGUMENTS;
	}
	fprintf(stderr, "%s\n", token.data);
	explicit_bzero(token.data, token.len);
	printf("%s\n", line.data);
	return fflush(stdout) == 0 ? EXIT_FINE : EXIT_NO_RESOURCES;
}

static int
print_openapi(void)
{
	char	   *text = openapi_text();

	fputs(text, stdout);
	pfree(text);
	return fflush(stdout) == 0 ? EXIT_FINE : EXIT_NO_RESOURCES;
}

int
main(int argc, char **argv)
{
	Arguments	arguments = {0};
	Web			web = {0};
	int			status;

	program_begin();
	if (argc == 4 && strcmp(argv[1], "--new-token") == 0)
		return make_token(argv[2], argv[3]);
	if (argc == 2 && strcmp(argv[1], "--openapi") == 0)
		return print_openapi();
	bundled_begin();
	web.config = config_file_read(&file, argc, argv, &arguments, &status);
	if (web.config == NULL)
		return status;
	web.config_path = arguments.config_path;
	if (arguments.mode == PROGRAM_RUN)
		return run(&web);
	printf("%s: the configuration is right\n", web.config_path);
	return EXIT_FINE;
}
