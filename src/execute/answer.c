/*-------------------------------------------------------------------------
 *
 * answer.c
 *		What a SQL handler answers about its tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/interval.h"
#include "base/shape.h"
#include "execute/answer.h"
#include "finish/outcome.h"

typedef enum AnswerColumn
{
	ANSWER_RESULT,
	ANSWER_DELAY,
	ANSWER_MESSAGE,
	ANSWER_COLUMNS,
	ANSWER_ID = ANSWER_COLUMNS, /* only twtasks.task_answer has it */
	ANSWER_OUTCOME,
	EACH_COLUMNS
} AnswerColumn;

static const ShapeColumn columns[] = {
	{"result", TEXTOID},
	{"delay", INTERVALOID},
	{"message", TEXTOID},
	{"id", UUIDOID},
	{"outcome", JSONBOID}
};

static const Shape one_shape = {.name = "task_result", .n = ANSWER_COLUMNS, .columns = columns};
static const Shape each_shape = {.name = "task_answer", .n = EACH_COLUMNS, .columns = columns};

/* InvalidOid: SQL of 1.0 has no such type. */
static Oid
each_type(void)
{
	Oid			element = shape_type(each_shape.name);

	return OidIsValid(element) ? get_array_type(element) : InvalidOid;
}

bool
answer_is_type(Oid type, bool is_batch)
{
	return type == VOIDOID || type == shape_type(one_shape.name) ||
		(is_batch && OidIsValid(type) && type == each_type());
}

static void
put(Try *try, const Datum *values, const bool *nulls)
{
	try->result = nulls[ANSWER_RESULT] ? TRY_DONE :
		try_result_of(TextDatumGetCString(values[ANSWER_RESULT]));
	try->has_delay = !nulls[ANSWER_DELAY];
	if (try->has_delay)
		try->delay_ms = (int64) interval_ms(DatumGetIntervalP(values[ANSWER_DELAY]));
	if (!nulls[ANSWER_MESSAGE])
		try->message = DatumGetTextPCopy(values[ANSWER_MESSAGE]);
}

static void
read_one(Datum answer, Try **tries, int n)
{
	Datum		values[ANSWER_COLUMNS];
	bool		nulls[ANSWER_COLUMNS];

	shape_deform(&one_shape, DatumGetHeapTupleHeader(answer), values, nulls);
	for (int i = 0; i < n; i++)
		put(tries[i], values, nulls);
}

/* The place of the task; answers mostly come in the order of the tasks, so this one first. */
static int
find_task(const pg_uuid_t *id, Try **tries, int n, int first)
{
	for (int i = 0; i < n; i++)
		if (memcmp(tries[(first + i) % n]->id, id, UUID_LEN) == 0)
			return (first + i) % n;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("handler answered for a task that it did not get")));
}

static void
read_next(Datum answer, Try **tries, int n, int first, bool *is_answered)
{
	Datum		values[EACH_COLUMNS];
	bool		nulls[EACH_COLUMNS];
	int			at;

	shape_deform(&each_shape, DatumGetHeapTupleHeader(answer), values, nulls);
	if (nulls[ANSWER_ID])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("handler gave an answer without an id")));
	at = find_task(DatumGetUUIDP(values[ANSWER_ID]), tries, n, first);
	if (is_answered[at])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("handler answered twice for a task")));
	is_answered[at] = true;
	put(tries[at], values, nulls);
	if (nulls[ANSWER_OUTCOME])
		return;
	tries[at]->outcome = DatumGetJsonbPCopy(values[ANSWER_OUTCOME]);
	outcome_check(tries[at]->outcome);
}

static void
read_each(NullableDatum answer, Try **tries, int n)
{
	Datum	   *answers = NULL;
	bool	   *nulls = NULL;
	int			count = 0;
	bool	   *is_answered = palloc0(n * sizeof(bool));

	if (!answer.isnull)
		deconstruct_array(DatumGetArrayTypeP(answer.value), shape_type(each_shape.name), -1, false,
						  TYPALIGN_DOUBLE, &answers, &nulls, &count);
	if (count != n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("handler gave %d answers for %d tasks", count, n),
				 errhint("Return one twtasks.task_answer for each task.")));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("handler gave an answer without an id")));
		read_next(answers[i], tries, n, i, is_answered);
	}
	pfree(is_answered);
}

void
answer_read(Oid type, NullableDatum answer, Try **tries, int n)
{
	if (type != VOIDOID && type != shape_type(one_shape.name))
		read_each(answer, tries, n);
	else if (type != VOIDOID && !answer.isnull)
		read_one(answer.value, tries, n);
	else
		for (int i = 0; i < n; i++)
			tries[i]->result = TRY_DONE;
}
