/*-------------------------------------------------------------------------
 *
 * test_sql_failure.c
 *		Whether the database refused a SQL handler, in the language of any server.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "execute/sql/sql_failure.h"

static char *context;
static char *function;

/* In place of the one of libpq, whose results only a server fills. */
char *
PQresultErrorField(const PGresult *result, int field)
{
	return field == PG_DIAG_CONTEXT ? context : field == PG_DIAG_SOURCE_FUNCTION ? function : NULL;
}

static bool
is_unfit(char *given_function, char *given_context)
{
	function = given_function;
	context = given_context;
	return sql_failure_is_unfit(NULL);
}

static void
test_refused_by_extension(void **state)
{
	assert_true(is_unfit("twt_find_handler", NULL));
	assert_true(is_unfit("handler_role", NULL));
}

static void
test_refused_by_old_extension(void **state)
{
	assert_true(is_unfit("DeconstructQualifiedName", NULL));
}

static void
test_refused_by_sql_edition(void **state)
{
	assert_true(is_unfit("exec_stmt_raise",
						 "PL/pgSQL function twtasks_internal.find_handler(text,name) line 19 at RAISE\n"
						 "PL/pgSQL function twtasks_internal.execute_tasks(text,name) line 15 at assignment"));
	assert_true(is_unfit("exec_stmt_raise",
						 "PL/pgSQL-Funktion twtasks_internal.check_callable(pg_proc) Zeile 13 bei RAISE\n"
						 "SQL-Anweisung »SELECT twtasks_internal.check_callable(handler)«\n"
						 "PL/pgSQL-Funktion twtasks_internal.find_handler(text,name) Zeile 30 bei PERFORM"));
}

static void
test_failed(void **state)
{
	assert_false(is_unfit(NULL, NULL));
	assert_false(is_unfit("exec_stmt_raise",
						  "PL/pgSQL-Funktion app.works(twtasks.task_input) Zeile 3 bei RAISE\n"
						  "PL/pgSQL-Funktion twtasks_internal.call_handler(text,twtasks.task_input) Zeile 6 bei EXECUTE"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_by_extension),
		cmocka_unit_test(test_refused_by_old_extension),
		cmocka_unit_test(test_refused_by_sql_edition),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
