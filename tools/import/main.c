/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-import: tasks of TwTasks, the original in Java, become ours.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "tools/ctl_end.h"
#include "tools/import/course.h"
#include "tools/import/import_options.h"

int
main(int argc, char **argv)
{
	ImportOptions options = {0};
	SessionOptions session = {0};
	Source	   *source;
	Target	   *target;
	int			status;

	program_begin();
	program_prepare();
	import_options_read(argc, argv, &options);
	if (options.is_told)
		return CTL_DONE;
	session.timeout_us = options.timeout_us;
	session.dbname = options.to;
	session.role = "twtasks_owner";
	target = target_open(&session, options.name, options.processing);
	session.dbname = options.from;
	session.role = NULL;
	session.schema = options.schema;
	session.lacks = "--schema names the schema of the tables tw_task, tw_task_data and unique_tw_task_key, of version 1.43 or later";
	source = source_open(&session, options.course.ended_days);
	status = course_run(source, target, &options.course);
	if (fflush(stdout) != 0)
		ctl_fail(CTL_REFUSED, "could not write: %m");
	source_close(source);
	target_close(target);
	return status;
}
