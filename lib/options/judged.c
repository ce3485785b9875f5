/*-------------------------------------------------------------------------
 *
 * judged.c
 *		Settings that bundled programs validate themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "options/hello.h"
#include "options/judged.h"
#include "process/bundled.h"

/* Reports the fault of the settings, if the program answers with one. */
static bool
check_answer(const Judged *judged, const char *line, const Place *place)
{
	json_t	   *answer = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *setting = json_string_value(json_object_get(answer, "setting"));
	bool		is_fine = json_object_get(answer, "ready") != NULL;
	char	   *option = psprintf("%s%s%s", judged->owner, judged->owner[0] != '\0' ? "." : "",
								  setting != NULL ? setting : judged->option);

	if (!is_fine)
		(void) options_fail(place, option, "%s",
							error != NULL ? error : "its program does not answer");
	pfree(option);
	json_decref(answer);
	return is_fine;
}

static bool
is_judged_by(const Judged *judged, const char *program)
{
	return strcmp(judged->program, program) == 0;
}

/* The program answers one line for each of its hellos. */
static bool
check_answers(const Judged *list, int n, const char *program, const char *line,
			  const Place *place)
{
	bool		is_fine = true;

	for (int i = 0; i < n && is_fine; i++)
	{
		if (!is_judged_by(&list[i], program))
			continue;
		is_fine = check_answer(&list[i], line, place);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return is_fine;
}

static bool
ask(const Judged *list, int n, const char *program, const Place *place)
{
	StringInfoData hellos;
	char	   *reason = NULL;
	char	   *answers;
	bool		is_fine;

	initStringInfo(&hellos);
	for (int i = 0; i < n; i++)
		if (is_judged_by(&list[i], program))
			appendStringInfo(&hellos, "%s\n", list[i].hello);
	answers = hello_check(program, list[0].use, hellos.data, &reason);
	if (answers != NULL)
		is_fine = check_answers(list, n, program, answers, place);
	else if (errno == EAGAIN)
		is_fine = options_fail_for_now(place, list[0].owner, reason);
	else
		is_fine = options_fail(place, list[0].owner, "%s", reason);
	pfree(hellos.data);
	pfree(answers);
	pfree(reason);
	return is_fine;
}

bool
judged_all(const Judged *list, int n, const Place *place)
{
	bool		is_fine = true;

	for (int i = 0; i < n && is_fine; i++)
	{
		int			first = 0;

		while (!is_judged_by(&list[first], list[i].program))
			first++;
		if (first == i)
			is_fine = ask(&list[i], n - i, list[i].program, place);
	}
	return is_fine;
}

char *
judged_hello(const char *name, char *hello, const Judged *how, const Place *place)
{
	Judged		judged = *how;
	char	   *program = bundled_path(name);
	bool		is_fine;

	judged.program = program;
	judged.hello = hello;
	is_fine = judged_all(&judged, 1, place);
	pfree(program);
	if (is_fine)
		return hello;
	pfree(hello);
	return NULL;
}
