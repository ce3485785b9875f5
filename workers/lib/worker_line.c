#include "base/port.h"

#include <jansson.h>

#include "workers/lib/task_line.h"
#include "workers/lib/worker_line.h"

static void
cancel(const WorkerActions *actions, void *worker, const char *line)
{
	json_t	   *object = json_loads(line, 0, NULL);
	const char *id = json_string_value(json_object_get(object, "cancel"));
	const char *reason = json_string_value(json_object_get(object, "reason"));

	if (id != NULL)
		actions->cancel(worker, id, json_integer_value(json_object_get(object, "version")),
						reason != NULL ? reason : "cancelled");
	json_decref(object);
}

void
worker_line_take(const WorkerActions *actions, void *worker, const char *line)
{
	static const char word[] = "{\"cancel\"";
	int64		start_by_us;
	Task	   *task;

	if (strncmp(line, word, strlen(word)) == 0)
		cancel(actions, worker, line);
	else if ((task = task_line_read(line, &start_by_us)) != NULL)
		actions->start(worker, task, start_by_us);
}
