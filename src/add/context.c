/*-------------------------------------------------------------------------
 *
 * context.c
 *		The context that tasks carry from add to handler: twtasks.context.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/jsonb.h"

#include "add/context.h"

static char *setting;			/* twtasks.context: JSON, or empty */

/* Accepts an empty value, or the text of a JSON object. */
static bool
check_setting(char **value, void **extra, GucSource source)
{
	char	   *text = *value;
	JsonLexContext *lex;
	bool		is_object;

	if (text == NULL || *text == '\0')
		return true;
	lex = twt_json_lexer(text, GetDatabaseEncoding());
	is_object = text[strspn(text, " \t\n\r")] == '{' &&
		pg_parse_json(lex, &nullSemAction) == JSON_SUCCESS;
	pfree(lex);
	if (is_object)
		return true;
	GUC_check_errdetail("The value must be a JSON object.");
	GUC_check_errhint("Write {\"request_id\": \"...\", \"traceparent\": \"...\"}, or nothing.");
	return false;
}

void
context_init(void)
{
	DefineCustomStringVariable("twtasks.context",
							   "Context of the tasks that this session adds.",
							   "A JSON object, such as a request id and a traceparent; a task's own context wins.",
							   &setting, "", PGC_USERSET, 0, check_setting, NULL, NULL);
}

static bool
is_object(Datum context)
{
	return JB_ROOT_IS_OBJECT(DatumGetJsonbP(context));
}

void
context_merge(NewTask *task)
{
	Datum		ours;

	if (likely(setting == NULL || *setting == '\0'))
		return;
	if (!task->nulls[NEW_CONTEXT] && !is_object(task->values[NEW_CONTEXT]))
		return;
	ours = DirectFunctionCall1(jsonb_in, CStringGetDatum(setting));
	if (!task->nulls[NEW_CONTEXT])
		ours = DirectFunctionCall2(jsonb_concat, ours, task->values[NEW_CONTEXT]);
	task->values[NEW_CONTEXT] = ours;
	task->nulls[NEW_CONTEXT] = false;
}

void
context_enter(Datum context, bool isnull)
{
	const char *text = "";

	if (!isnull && is_object(context))
	{
		Jsonb	   *json = DatumGetJsonbP(context);

		text = JsonbToCString(NULL, &json->root, VARSIZE(json));
	}
	if (*text == '\0' && *setting == '\0')
		return;
	(void) set_config_option("twtasks.context", text, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}
