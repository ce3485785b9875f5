/*-------------------------------------------------------------------------
 *
 * worker_usual.c
 *		The usual replies of a worker, read without a parser.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <ctype.h>

#include "base/json_member.h"
#include "base/text.h"
#include "protocol/worker_usual.h"

/*
 * The most levels of the tasks to add.  The database's reader needs stack for each
 * level, so a deeper reply is for jansson, which refuses more than 2,048.
 */
#define LEVELS_MAX 1000

/* Steps over the text and a space after it. */
static bool
skip(const char **p, const char *text)
{
	size_t		len = strlen(text);

	if (strncmp(*p, text, len) != 0)
		return false;
	*p += len;
	if (**p == ' ')
		(*p)++;
	return true;
}

/*
 * Copies a string between two quotes, if it has no escapes.  Bytes that may be no text
 * are for jansson.
 */
static bool
take_string(const char **p, char *value, size_t size)
{
	size_t		len;

	if (**p != '"')
		return false;
	len = strcspn(*p + 1, "\"\\");
	if (len >= size || (*p)[len + 1] != '"')
		return false;
	memcpy(value, *p + 1, len);
	value[len] = '\0';
	*p += len + 2;
	return text_is_printable(value);
}

static bool
take_int(const char **p, int64 *value)
{
	int			ndigits = 0;

	if (**p == '0')
		return false;
	for (*value = 0; isdigit((unsigned char) **p) && ndigits < 18; ndigits++)
		*value = *value * 10 + (*(*p)++ - '0');
	return ndigits > 0;
}

static bool
take_result(const char **p, WorkerReply *reply)
{
	char		result[16];

	return skip(p, "\"result\":") && take_string(p, result, sizeof(result)) &&
		task_result_parse_worker(result, &reply->result);
}

/*
 * The array is the last member.  We only look for its end: the database reads it,
 * and a large reply is parsed once.
 */
static bool
take_add(const char **p, const char *end, WorkerReply *reply)
{
	const char *add = *p;
	int			levels;

	if (*add != '[' || (reply->result != TASK_DONE && reply->result != TASK_DELETE))
		return false;
	*p = json_value_end(add, end, &levels);
	if (levels > LEVELS_MAX || json_flaw(add, *p - add) != NULL || *p + 1 != end || **p != '}')
		return false;
	reply->add = pnstrdup(add, *p - add);
	return true;
}

static bool
take_word(const char **p, const char *end, WorkerReply *reply)
{
	if (skip(p, "\"started\":"))
	{
		reply->word = WORKER_STARTED;
		return skip(p, "true");
	}
	return take_result(p, reply) &&
		(!skip(p, ",") || (reply->many == NULL && skip(p, "\"add\":") && take_add(p, end, reply)));
}

static bool
take_task(const char **p, WorkerTask *task)
{
	return take_string(p, task->id, sizeof(task->id)) &&
		skip(p, ",") && skip(p, "\"version\":") && take_int(p, &task->version);
}

/* Whole ids with their quotes are so long that they limit the room. */
static bool
take_ids(const char **p, size_t len, WorkerReply *reply)
{
	reply->many = palloc0((len / (TASK_ID_TEXT + 2) + 1) * sizeof(WorkerTask));
	do
	{
		char	   *id = reply->many[reply->nmany].id;

		if (!take_string(p, id, TASK_ID_TEXT + 1) || id[TASK_ID_TEXT - 1] == '\0')
			return false;
		reply->nmany++;
	} while (skip(p, ","));
	return skip(p, "]");
}

static bool
take_versions(const char **p, WorkerReply *reply)
{
	for (int i = 0; i < reply->nmany; i++)
		if (!take_int(p, &reply->many[i].version) || (i + 1 < reply->nmany && !skip(p, ",")))
			return false;
	return skip(p, "]");
}

static bool
take_tasks(const char **p, const char *end, WorkerReply *reply)
{
	if (skip(p, "\"id\":"))
		return take_task(p, &reply->one);
	return skip(p, "\"ids\":") && skip(p, "[") && take_ids(p, end - *p, reply) &&
		skip(p, ",") && skip(p, "\"versions\":") && skip(p, "[") && take_versions(p, reply);
}

bool
worker_usual_decode(const char *line, size_t len, WorkerReply *reply)
{
	const char *p = line;
	const char *end = line + len;

	if (skip(&p, "{") && take_tasks(&p, end, reply) && skip(&p, ",") &&
		take_word(&p, end, reply) && skip(&p, "}") && p == end)
		return true;
	pfree(reply->many);
	return false;
}
