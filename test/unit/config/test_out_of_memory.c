/*-------------------------------------------------------------------------
 *
 * test_out_of_memory.c
 *		A library that is out of memory ends the process with this reason, and
 *		its failure is not taken for a fault of what it was given.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <event2/event.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "check.h"
#include "options/conninfo.h"
#include "options/source.h"
#include "pg/hosts.h"

/* These take the places of the libraries' functions, and are out of memory. */

static const char *libpq_says;
static bool can_initialize;
static bool can_parse;
static bool event_ends_the_process;

PQconninfoOption *
PQconninfoParse(const char *conninfo, char **fault)
{
	*fault = libpq_says == NULL ? NULL : strdup(libpq_says);
	return NULL;
}

static int
no_memory(yaml_parser_t *parser)
{
	parser->error = YAML_MEMORY_ERROR;
	return 0;
}

int
yaml_parser_initialize(yaml_parser_t *parser)
{
	memset(parser, 0, sizeof(*parser));
	return can_initialize;
}

void
yaml_parser_set_input_string(yaml_parser_t *parser, const unsigned char *input, size_t size)
{
	if (!can_initialize)
		_exit(EXIT_FINE);
}

void
yaml_parser_delete(yaml_parser_t *parser)
{
}

int
yaml_parser_parse(yaml_parser_t *parser, yaml_event_t *event)
{
	memset(event, 0, sizeof(*event));
	event->type = YAML_STREAM_END_EVENT;
	return can_parse ? 1 : no_memory(parser);
}

int
yaml_parser_load(yaml_parser_t *parser, yaml_document_t *document)
{
	return no_memory(parser);
}

void
event_set_mem_functions(void *(*allocate) (size_t), void *(*enlarge) (void *, size_t),
						void (*release) (void *))
{
	event_ends_the_process = allocate == pg_malloc && enlarge == pg_realloc;
}

/* Runs it in a child, which must end and say why. */
static void
assert_ends(void (*run) (void), const char *reason)
{
	char		said[1024];
	int			fds[2];
	int			status;
	ssize_t		n;
	pid_t		child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
	{
		dup2(fds[1], STDERR_FILENO);
		run();
		_exit(EXIT_FINE);
	}
	close(fds[1]);
	n = read(fds[0], said, sizeof(said) - 1);
	said[Max(n, 0)] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
	assert_non_null(strstr(said, reason));
}

static void
check_conninfo(void)
{
	char	   *reason;

	if (!conninfo_check("dbname=app", &reason))
		pfree(reason);
}

static void
redact_conninfo(void)
{
	pfree(conninfo_redact("dbname=app"));
}

static void
open_hosts(void)
{
	hosts_free(hosts_new("dbname=app"));
}

static void
test_libpq(void **state)
{
	static const char *const words[] = {NULL, "out of memory\n"};

	for (size_t i = 0; i < lengthof(words); i++)
	{
		libpq_says = words[i];
		assert_ends(check_conninfo, "FATAL postgres: out of memory");
		assert_ends(redact_conninfo, "FATAL postgres: out of memory");
		assert_ends(open_hosts, "FATAL postgres: out of memory");
	}
}

static void
test_a_bad_string_is_none(void **state)
{
	char	   *reason;

	libpq_says = "missing \"=\"\n";
	assert_false(conninfo_check("nonsense", &reason));
	assert_string_equal(reason, "invalid connection string: missing \"=\"");
	pfree(reason);
}

static void
read_source(void)
{
	char	   *error;

	if (source_read("/etc/passwd", &error) == NULL)
		fprintf(stderr, "%s\n", error);
}

static void
test_libyaml(void **state)
{
	assert_ends(read_source, "FATAL config: out of memory");
	can_initialize = true;
	assert_ends(read_source, "FATAL config: out of memory");
	can_parse = true;
	assert_ends(read_source, "FATAL config: out of memory");
}

static void
test_jansson_and_libevent(void **state)
{
	json_malloc_t allocate;
	json_free_t release;

	program_begin();
	json_get_alloc_funcs(&allocate, &release);
	assert_ptr_equal(allocate, pg_malloc);
	assert_true(event_ends_the_process);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libpq),
		cmocka_unit_test(test_a_bad_string_is_none),
		cmocka_unit_test(test_libyaml),
		cmocka_unit_test(test_jansson_and_libevent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
