/*-------------------------------------------------------------------------
 *
 * fuzz_worker_reply.c
 *		Lines of a worker: the short reader against the whole one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "input.h"
#include "protocol/worker_protocol.h"
#include "protocol/worker_usual.h"

static void
check_reply(const WorkerReply *reply, const char *line)
{
	must(reply->add == NULL || is_json(reply->add), "the tasks to add are JSON", line);
	must(reply->outcome == NULL || is_json(reply->outcome), "the outcome is JSON", line);
	must(reply->message == NULL || text_is_utf8(reply->message, strlen(reply->message)), "a message is UTF-8", line);
	must(reply->word != WORKER_PROGRESS || (reply->percent >= 0 && reply->percent <= 100), "a percentage is from 0 to 100", line);
	must(reply->many != NULL || reply->nmany == 0, "several tasks have a list", line);
	must(reply->add == NULL || reply->result == TASK_DONE || reply->result == TASK_DELETE, "only a task that is done adds others", line);
}

static bool
have_same_tasks(const WorkerReply *a, const WorkerReply *b)
{
	if (a->nmany != b->nmany || strcmp(a->one.id, b->one.id) != 0 || a->one.version != b->one.version)
		return false;
	for (int i = 0; i < a->nmany; i++)
		if (strcmp(a->many[i].id, b->many[i].id) != 0 || a->many[i].version != b->many[i].version)
			return false;
	return true;
}

/* A space at the beginning keeps the short reader away. */
static void
compare(const char *line, const WorkerReply *reply)
{
	char	   *spaced = psprintf(" %s", line);
	WorkerReply whole;
	char	   *fault = worker_protocol_decode(spaced, strlen(spaced), &whole);
	bool		is_equal = whole.word == reply->word && have_same_tasks(&whole, reply) &&
		whole.result == reply->result && whole.delay_us == reply->delay_us && whole.at_us == reply->at_us &&
		is_same_text(whole.add, reply->add) && is_same_text(whole.outcome, reply->outcome);

	must(fault != NULL || reply->word == WORKER_STRANGE || is_equal, "a space changes nothing", line);
	pfree(fault);
	worker_protocol_clear(&whole);
	pfree(spaced);
}

static void
read_long(const char *line)
{
	WorkerReply reply;

	if (worker_protocol_decode_long(line, &reply))
		must(reply.word == WORKER_RESULT && reply.result == TASK_ERROR && reply.message != NULL, "a long line is an error", line);
	worker_protocol_clear(&reply);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	size_t		len;
	char	   *line = input_bytes(&input, &len);
	WorkerReply reply;
	char	   *fault = worker_protocol_decode(line, len, &reply);

	if (fault == NULL)
	{
		WorkerReply usual = {.word = WORKER_RESULT};
		bool		is_usual = worker_usual_decode(line, len, &usual);

		if (is_usual)
			worker_protocol_clear(&usual);
		/* the database reads the tasks to add of a usual reply */
		if (!is_usual)
			check_reply(&reply, line);
		compare(line, &reply);
	}
	pfree(fault);
	worker_protocol_clear(&reply);
	read_long(line);
	pfree(line);
	return 0;
}
