/*-------------------------------------------------------------------------
 *
 * import_options.c
 *		The command line of twtasks-import, and its help.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <getopt.h>

#include "base/units.h"
#include "common/version.h"
#include "options/conninfo.h"
#include "tools/ctl_end.h"
#include "tools/import/import_options.h"

/* Most options --json. */
#define PATTERNS_MAX 1000

/* Most days of history: a hundred years. */
#define DAYS_MAX 36500

static const char usage[] =
"twtasks-import copies tasks of TwTasks, the original in Java, into a database with the extension twtasks.\n"
"\n"
"Usage:\n"
"  twtasks-import --from CONNINFO --name NAME [OPTION...]\n"
"\n"
"Options:\n"
"  --from CONNINFO     database with the tables of TwTasks, as a connection string or URI\n"
"  --to CONNINFO       database with the extension; the variables of libpq if left out\n"
"  --name NAME         name of this import, by which a repeated run goes on\n"
"  --dry-run           only check all tasks: count them, and list those that do not fit\n"
"  --schema NAME       schema of the tables; public if left out\n"
"  --processing RULE   tasks that were PROCESSING: error (a person decides on each) or\n"
"                      retry (they run again); error if left out\n"
"  --ended DAYS        tasks that ended in the last so many days become history; 30 if left out\n"
"  --json TYPE         the data of this type, or of types that begin so and a *, is JSON;\n"
"                      may be given several times; other data is handed on as bytes\n"
"  --skip-misfits      leave tasks that do not fit in the source, and import all others\n"
"  --while-handled     import although sidecars of the target handle the types\n"
"  --watch TIME        time to watch whether nodes of TwTasks still read the tables; 6s if left out\n"
"  --timeout TIME      time limit of a statement; 60s if left out\n"
"  --version           print the version\n"
"  --help              print this\n"
"\n"
"Passwords come from ~/.pgpass, PGPASSFILE or a service file.\n"
"\n"
"Exit status: 0 done, and source and target agree; 1 refused, or they differ;\n"
"2 wrong arguments; 3 no database.\n";

enum
{
	FROM, TO, NAME, DRY_RUN, SCHEMA, PROCESSING, ENDED, JSON, SKIP_MISFITS, WHILE_HANDLED, WATCH, TIMEOUT, VERSION, HELP
};

static const struct option names[] = {
	{"from", required_argument, NULL, FROM},
	{"to", required_argument, NULL, TO},
	{"name", required_argument, NULL, NAME},
	{"dry-run", no_argument, NULL, DRY_RUN},
	{"schema", required_argument, NULL, SCHEMA},
	{"processing", required_argument, NULL, PROCESSING},
	{"ended", required_argument, NULL, ENDED},
	{"json", required_argument, NULL, JSON},
	{"skip-misfits", no_argument, NULL, SKIP_MISFITS},
	{"while-handled", no_argument, NULL, WHILE_HANDLED},
	{"watch", required_argument, NULL, WATCH},
	{"timeout", required_argument, NULL, TIMEOUT},
	{"version", no_argument, NULL, VERSION},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0}
};

static int64
duration(const char *name, const char *text, int64 least)
{
	int64		us;

	if (!units_parse_duration(text, &us) || us < least || us > SECONDS_TO_US(86400))
		ctl_fail(CTL_USAGE, "--%s needs a duration such as 6s, up to a day, not \"%s\"", name, text);
	return us;
}

static int
days(const char *text)
{
	int64		value;
	const char *rest = text;

	if (units_parse_digits(&rest, &value) != PARSED || *rest != '\0' || value > DAYS_MAX)
		ctl_fail(CTL_USAGE, "--ended needs a number of days, not \"%s\"", text);
	return (int) value;
}

/* Other processes can read our arguments. */
static const char *
conninfo(const char *name, const char *text)
{
	char	   *reason;
	PQconninfoOption *parts;

	if (strchr(text, '=') == NULL && strstr(text, "://") == NULL)
		return text;			/* the name of a database */
	if (!conninfo_check(text, &reason))
		ctl_fail(CTL_USAGE, "--%s: %s", name, reason);
	parts = conninfo_parse(text, NULL);
	for (PQconninfoOption *part = parts; part && part->keyword; part++)
		if (part->val != NULL && strstr(part->keyword, "password") != NULL)
			ctl_fail(CTL_USAGE, "--%s must not have a password\nhint: use ~/.pgpass, PGPASSFILE or a service file", name);
	PQconninfoFree(parts);
	return text;
}

static void
add_pattern(Patterns *json, char *pattern)
{
	if (json->patterns == NULL)
		json->patterns = palloc(PATTERNS_MAX * sizeof(char *));
	if (json->n == PATTERNS_MAX)
		ctl_fail(CTL_USAGE, "there are more than %d options --json", PATTERNS_MAX);
	json->patterns[json->n++] = pattern;
}

static void
take_text(ImportOptions *options, int option)
{
	switch (option)
	{
		case FROM:
			options->from = conninfo("from", optarg);
			break;
		case TO:
			options->to = conninfo("to", optarg);
			break;
		case NAME:
			options->name = optarg;
			break;
		case SCHEMA:
			options->schema = optarg;
			break;
		case PROCESSING:
			if (strcmp(optarg, "error") != 0 && strcmp(optarg, "retry") != 0)
				ctl_fail(CTL_USAGE, "--processing is error or retry, not \"%s\"", optarg);
			options->processing = optarg;
			break;
		case JSON:
			add_pattern(&options->course.json, optarg);
			break;
	}
}

static void
take_other(ImportOptions *options, int option)
{
	switch (option)
	{
		case DRY_RUN:
			options->course.dry_run = true;
			break;
		case SKIP_MISFITS:
			options->course.skips_misfits = true;
			break;
		case WHILE_HANDLED:
			options->course.while_handled = true;
			break;
		case ENDED:
			options->course.ended_days = days(optarg);
			break;
		case WATCH:
			options->course.watch_us = duration("watch", optarg, 0);
			break;
		case TIMEOUT:
			options->timeout_us = duration("timeout", optarg, SECONDS_TO_US(1));
			break;
		case VERSION:
			printf("twtasks-import %s\n", TWT_VERSION);
			options->is_told = true;
			break;
		case HELP:
			fputs(usage, stdout);
			options->is_told = true;
			break;
		default:
			ctl_fail(CTL_USAGE, "see twtasks-import --help");
	}
}

void
import_options_read(int argc, char **argv, ImportOptions *options)
{
	int			option;

	options->processing = "error";
	options->schema = "public";
	options->timeout_us = SECONDS_TO_US(60);
	options->course.ended_days = 30;
	options->course.watch_us = SECONDS_TO_US(6);
	while (!options->is_told && (option = getopt_long(argc, argv, "", names, NULL)) != -1)
	{
		take_text(options, option);
		if (option != FROM && option != TO && option != NAME && option != SCHEMA && option != PROCESSING && option != JSON)
			take_other(options, option);
	}
	if (options->is_told)
		return;
	if (optind < argc)
		ctl_fail(CTL_USAGE, "unexpected argument \"%s\"\nhint: twtasks-import --help", argv[optind]);
	if (options->from == NULL || options->name == NULL)
		ctl_fail(CTL_USAGE, "--from and --name are needed\nhint: twtasks-import --help");
}
