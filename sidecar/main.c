/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasksd: arguments, signals, start, orderly stop.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/sdnotify.h"
#include "common/version.h"
#include "config/config.h"
#include "config_check.h"
#include "sidecar.h"

typedef enum ExitCode
{
	EXIT_FINE = 0,
	EXIT_BAD_ARGUMENTS = 2,
	EXIT_BAD_CONFIG = 3,
	EXIT_NO_RESOURCES = 4
} ExitCode;

typedef enum Mode
{
	MODE_RUN,
	MODE_CHECK,
	MODE_PRINT
} Mode;

typedef struct Program
{
	const char *config_path;
	Loop	   *loop;
	Sidecar    *sidecar;
} Program;

static const char usage[] =
"twtasksd runs background tasks that were added in PostgreSQL.\n"
"\n"
"Usage:\n"
"  twtasksd --config FILE [--check-config | --print-config]\n"
"\n"
"Options:\n"
"  -c, --config FILE   the configuration (YAML)\n"
"      --check-config  say whether FILE is right and its handlers are there, and exit\n"
"      --print-config  print all options in force, and exit\n"
"  -V, --version       print the version, and exit\n"
"  -h, --help          print this, and exit\n"
"\n"
"Signals:\n"
"  TERM, INT  stop when what runs has ended; a second one: at once\n"
"  HUP        read FILE again; if it is wrong, go on with the old one;\n"
"             replace worker processes, one after the other\n"
"\n"
"Exit status: 0 stopped in order, 2 wrong arguments, 3 wrong configuration,\n"
"4 no event loop.\n";

static void
on_stop(void *arg)
{
	sidecar_drain(((Program *) arg)->sidecar);
}

static void
on_reload(void *arg)
{
	Program    *program = arg;
	char	   *error = NULL;
	Config	   *config;

	sdnotify_reloading();
	config = config_read(program->config_path, &error);
	if (config == NULL)
		log_line(TWT_LOG_ERROR, "config", "not reloaded: %s", error);
	else
		sidecar_reload(program->sidecar, config);
	pfree(error);
	sdnotify_ready();
}

static Config *
read_config(const char *path)
{
	char	   *error;
	Config	   *config = config_read(path, &error);

	if (config == NULL)
		log_line(TWT_LOG_FATAL, "config", "%s", error);
	return config;
}

static int
print_config(const Config *config)
{
	StringInfoData text;

	initStringInfo(&text);
	config_print(config, &text);
	fputs(text.data, stdout);
	return fflush(stdout) == 0 ? EXIT_FINE : EXIT_BAD_CONFIG;
}

static int
check_config(const char *path, const Config *config)
{
	config_check(config, path);
	printf("%s: the configuration is right\n", path);
	return EXIT_FINE;
}

/*
 * Whatever is opened first would take the place of a standard descriptor that
 * is closed, and be written to as the log.
 */
static void
open_standard_files(void)
{
	int			fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static int
run(Program *program, Config *config)
{
	const struct rlimit no_core = {0, 0};

	/* What is in memory may be confidential. */
	(void) setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGPIPE, SIG_IGN);
	sdnotify_init();
	log_init(config->log.format, config->log.level, config->node);
	log_line(TWT_LOG_INFO, "main", "twtasksd %s starting", TWT_VERSION);
	program->loop = loop_new();
	if (program->loop == NULL)
	{
		log_line(TWT_LOG_FATAL, "main", "could not make the event loop: %m");
		return EXIT_NO_RESOURCES;
	}
	loop_on_signal(program->loop, SIGTERM, on_stop, program);
	loop_on_signal(program->loop, SIGINT, on_stop, program);
	loop_on_signal(program->loop, SIGHUP, on_reload, program);
	program->sidecar = sidecar_open(program->loop, config);
	loop_run(program->loop);
	sidecar_free(program->sidecar);
	loop_free(program->loop);
	log_line(TWT_LOG_INFO, "main", "stopped");
	return EXIT_FINE;
}

/* False: the process is to end with *status. */
static bool
read_arguments(int argc, char **argv, Program *program, Mode *mode, int *status)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check-config", no_argument, NULL, 'k'},
		{"print-config", no_argument, NULL, 'p'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}
	};
	int			option;

	*status = EXIT_FINE;
	while ((option = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1)
		switch (option)
		{
			case 'c':
				program->config_path = optarg;
				break;
			case 'k':
				*mode = MODE_CHECK;
				break;
			case 'p':
				*mode = MODE_PRINT;
				break;
			case 'V':
				printf("twtasksd %s\n", TWT_VERSION);
				return false;
			case 'h':
				fputs(usage, stdout);
				return false;
			default:
				*status = EXIT_BAD_ARGUMENTS;
				return false;
		}
	if (program->config_path != NULL && optind == argc)
		return true;
	fputs(usage, stderr);
	*status = EXIT_BAD_ARGUMENTS;
	return false;
}

int
main(int argc, char **argv)
{
	Program		program = {0};
	Mode		mode = MODE_RUN;
	int			status;
	Config	   *config;

	open_standard_files();
	if (!read_arguments(argc, argv, &program, &mode, &status))
		return status;
	config = read_config(program.config_path);
	if (config == NULL)
		return EXIT_BAD_CONFIG;
	if (mode == MODE_PRINT)
		return print_config(config);
	if (mode == MODE_CHECK)
		return check_config(program.config_path, config);
	return run(&program, config);
}
