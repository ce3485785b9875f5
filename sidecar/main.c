/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasksd: arguments, signals, start, orderly stop.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/program.h"
#include "base/sdnotify.h"
#include "common/version.h"
#include "config/config.h"
#include "check/config_check.h"
#include "process/bundled.h"
#include "process/reaper.h"
#include "process/supervisor.h"
#include "execute/runner.h"
#include "options/config_file.h"
#include "sidecar.h"

/* Signals are handled before there is a sidecar; their functions run in the loop. */
typedef struct Program
{
	Loop	   *loop;
	Sidecar    *sidecar;
	Reload	   *reload;
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
"4 the system lacks something that a start needs.\n";

static void
on_stop(void *arg)
{
	sidecar_drain(((Program *) arg)->sidecar);
}

static void
start_log(const void *read)
{
	const Config *config = read;

	log_init(config->log.format, config->log.level, config->node);
}

static void
apply(void *arg, void *config)
{
	sidecar_reload(((Program *) arg)->sidecar, config);
}

static void
note(void *arg, const char *trouble)
{
	sidecar_note_config(((Program *) arg)->sidecar, trouble);
}

static const ConfigFile file = {usage, &config_section, handler_kinds, start_log, apply, note};

static int
run(const char *config_path, Config *config)
{
	Program		program = {0};

	program_prepare();
	sdnotify_init();
	log_line(TWT_LOG_INFO, "main", "twtasksd %s starting", TWT_VERSION);
	if (!supervisor_is_possible())
	{
		log_line(TWT_LOG_FATAL, "main", "this kernel is too old: Linux 5.4 or newer is needed");
		return EXIT_NO_RESOURCES;
	}
	program.loop = loop_new();
	if (program.loop == NULL)
	{
		log_line(TWT_LOG_FATAL, "main", "could not make the event loop: %m");
		return EXIT_NO_RESOURCES;
	}
	loop_on_signal(program.loop, SIGTERM, on_stop, &program);
	loop_on_signal(program.loop, SIGINT, on_stop, &program);
	program.reload = reload_open(program.loop, &file, config_path, config, &program);
	reaper_open(program.loop);
	program.sidecar = sidecar_open(program.loop, config);
	loop_run(program.loop);
	reload_close(program.reload);
	sidecar_free(program.sidecar);
	loop_free(program.loop);
	log_line(TWT_LOG_INFO, "main", "stopped");
	program_exit(EXIT_FINE);
}

int
main(int argc, char **argv)
{
	Arguments	arguments = {0};
	int			status;
	Config	   *config;

	program_begin();
	bundled_begin();
	config = config_file_read(&file, argc, argv, &arguments, &status);
	if (config == NULL)
		return status;
	if (arguments.mode == PROGRAM_RUN)
		return run(arguments.config_path, config);
	config_check(config, arguments.config_path);
	printf("%s: the configuration is right\n", arguments.config_path);
	return EXIT_FINE;
}
