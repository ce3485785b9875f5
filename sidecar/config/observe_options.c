/*-------------------------------------------------------------------------
 *
 * observe_options.c
 *		The sections "metrics" and "traces" of the file.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config/observe_options.h"
#include "options/hello.h"
#include "options/judged.h"

static const Option metrics_options[] = {
	{
		"types", OPTION_INTEGER, .fallback = "200", .needs_restart = true,
		.min = 1, .max = 200, .offset = offsetof(MetricsConfig, types),
		.help = "types with figures of their own; those that come later count as (other)"
	},
	{
		"histogram_types", OPTION_INTEGER, .fallback = "100", .needs_restart = true,
		.min = 0, .max = 200, .offset = offsetof(MetricsConfig, histogram_types),
		.help = "of these, types with histograms of their own"
	},
};

const Section metrics_section = {metrics_options, lengthof(metrics_options), sizeof(MetricsConfig)};

static const Choice switch_choices[] = {
	{"false", 0},
	{"true", 1},
	{NULL, 0}
};

static const Option traces_options[] = {
	{
		"url", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(TracesConfig, url),
		.help = "where spans go by OTLP, such as http://localhost:4318/v1/traces"
	},
	{
		"headers_file", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(TracesConfig, headers_file),
		.help = "a file with headers for the receiver, such as Authorization, one per line as NAME: VALUE"
	},
	{
		"service", OPTION_TEXT, .fallback = "twtasks",
		.min = 1, .max = 255, .offset = offsetof(TracesConfig, service),
		.help = "service.name of the spans"
	},
	{
		"sample", OPTION_NUMBER, .fallback = "0.01",
		.min = 0, .max = 1, .offset = offsetof(TracesConfig, sample),
		.help = "share of the traces that begin with a task; a traceparent decides for its own trace"
	},
	{
		"always_errors", OPTION_CHOICE, .fallback = "true",
		.choices = switch_choices, .offset = offsetof(TracesConfig, always_errors),
		.help = "whether tries that fail have spans in any case"
	},
};

const Section traces_section = {traces_options, lengthof(traces_options), sizeof(TracesConfig)};

char *
traces_line(const TracesConfig *config, const char *node, const char *environment,
			const LogConfig *log, const Place *place)
{
	static const Judged how = {.owner = "traces", .option = "url", .use = "traces"};
	json_t	   *settings = hello_settings(&log_section, log);

	if (environment != NULL)
		json_object_set_new(settings, "environment", json_string(environment));
	return judged_hello("notify", hello_make(node, settings, &traces_section, config), &how, place);
}
