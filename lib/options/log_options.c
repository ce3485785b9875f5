#include "base/port.h"

#include "options/log_options.h"

static const Choice format_choices[] = {
	{"text", LOG_FORMAT_TEXT},
	{"json", LOG_FORMAT_JSON},
	{NULL, 0}
};

static const Choice level_choices[] = {
	{"error", TWT_LOG_ERROR},
	{"warn", TWT_LOG_WARN},
	{"info", TWT_LOG_INFO},
	{"debug", TWT_LOG_DEBUG},
	{NULL, 0}
};

static const Option log_options[] = {
	{
		"format", OPTION_CHOICE, .fallback = "text",
		.choices = format_choices, .offset = offsetof(LogConfig, format),
		.help = "format of the lines on stderr"
	},
	{
		"level", OPTION_CHOICE, .fallback = "info",
		.choices = level_choices, .offset = offsetof(LogConfig, level),
		.help = "least severe level that is written"
	},
};

const Section log_section = {
	log_options, lengthof(log_options), sizeof(LogConfig)
};
