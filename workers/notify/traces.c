/*-------------------------------------------------------------------------
 *
 * traces.c
 *		twtasks-notify traces: spans of tries, for OpenTelemetry.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "workers/lib/helper_main.h"
#include "workers/notify/trace_export.h"
#include "workers/notify/traces.h"

#define USAGE \
	"twtasks-notify traces sends the spans of tries to a receiver of OTLP.\n" \
	"It is started by twtasksd, for \"traces\" in its configuration.\n\n" \
	"Usage: twtasks-notify traces [--check]\n"

HELLO_SETTINGS(trace_settings);

typedef struct Traces
{
	HelperMain *frame;
	TraceExport *export;
} Traces;

static void *
begin(HelperMain *frame, void *settings)
{
	Traces	   *traces = palloc0(sizeof(Traces));

	traces->frame = frame;
	traces->export = trace_export_new(helper_main_loop(frame), helper_main_out(frame), settings);
	helper_main_take_term(frame);
	return traces;
}

static void
on_line(void *traces, const char *line, size_t len)
{
	trace_export_take(((Traces *) traces)->export, line, len);
}

static void
on_left(void *frame)
{
	helper_main_stop(frame);
}

static void
leave(void *arg)
{
	Traces	   *traces = arg;

	trace_export_leave(traces->export, on_left, traces->frame);
}

int
traces_main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-notify", USAGE, settings_new, settings_free},
		.component = "traces",
		.begin = begin,
		.on_line = on_line,
		.leave = leave
	};

	return helper_main(&use, argc, argv);
}
