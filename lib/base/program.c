#include "base/port.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "common/version.h"

bool
program_read_arguments(int argc, char **argv, const char *usage,
					   Arguments *arguments, int *status)
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
				arguments->config_path = optarg;
				break;
			case 'k':
				arguments->mode = PROGRAM_CHECK;
				break;
			case 'p':
				arguments->mode = PROGRAM_PRINT;
				break;
			case 'V':
				printf("%s %s\n", program_invocation_short_name, TWT_VERSION);
				return false;
			case 'h':
				fputs(usage, stdout);
				return false;
			default:
				*status = EXIT_BAD_ARGUMENTS;
				return false;
		}
	if (arguments->config_path != NULL && optind == argc)
		return true;
	fputs(usage, stderr);
	*status = EXIT_BAD_ARGUMENTS;
	return false;
}

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

void
program_begin(void)
{
	const struct rlimit no_core = {0, 0};

	(void) setrlimit(RLIMIT_CORE, &no_core);
	open_standard_files();
	json_set_alloc_funcs(pg_malloc, free);
	event_set_mem_functions(pg_malloc, pg_realloc, free);
}

void
program_out_of_memory(const char *subject)
{
	log_line(TWT_LOG_FATAL, subject, "out of memory");
	program_exit(EXIT_FAILURE);
}

void
program_prepare(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (program_gets_orphans())
		signal(SIGCHLD, SIG_IGN);
}

bool
program_gets_orphans(void)
{
	int			is_subreaper = 0;

	return getpid() == 1 ||
		(prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

void
program_exit(int status)
{
	(void) fflush(stdout);
	(void) fflush(stderr);
	_exit(status);
}

void
program_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}
