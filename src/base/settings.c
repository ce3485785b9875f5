/*-------------------------------------------------------------------------
 *
 * settings.c
 *		The settings (GUCs) of the extension, as one table.
 *
 * An ordinary user can change none of them but twtasks.reason, and
 * twtasks.on_behalf_of, which its reader judges: the setting of one session must
 * not change what others, or the sidecars, execute.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include <limits.h>

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/contract.h"
#include "base/settings.h"

#define PERSON_MAX 200

bool		twt_enabled = true;
int			twt_queue_size = 16384;
int			twt_queues = 16;
char	   *twt_door_directory = "";
int			twt_max_payload = 16 * 1024 * 1024;
int			twt_keep_finished = 30 * 24 * 60;
static int	keep_audit = 400 * 24 * 60;
int			twt_keep_attempts = 14 * 24 * 60;
bool		twt_testing = false;
bool		twt_refuse_unknown_types = false;
int			twt_function_timeout = 1000;
static char *on_behalf_of;
static char *reason;

typedef struct Setting
{
	const char *name;
	const char *what;
	const char *more;
	void	   *target;			/* bool * when max is 0, else int * */
	int			min;
	int			max;
	GucContext	context;
	int			flags;
	GucIntCheckHook check;
} Setting;

/* The size must be a power of two, since positions wrap by a mask. */
static bool
check_queue_size(int *value, void **extra, GucSource source)
{
	if ((*value & (*value - 1)) == 0)
		return true;
	GUC_check_errdetail("The value must be a power of two.");
	GUC_check_errhint("Use 16384, or a number such as 4096, 8192, 32768.");
	return false;
}

/*
 * A larger payload could be stored but neither read nor dumped.  A control
 * character takes one byte, six in JSON as text and seven in a dump, where a
 * row has at most 1GB.
 */
static bool
check_max_payload(int *value, void **extra, GucSource source)
{
	if (*value <= 128 * 1024 * 1024)
		return true;
	GUC_check_errdetail("Above 128MB a payload could be stored but no longer dumped.");
	return false;
}

/* Audits show the name, and so do terminals. */
static bool
check_person(char **value, void **extra, GucSource source)
{
	if (strlen(*value) > PERSON_MAX)
	{
		GUC_check_errdetail("The value must have at most %d bytes.", PERSON_MAX);
		return false;
	}
	for (const char *p = *value; *p != '\0'; p++)
		if ((unsigned char) *p < ' ' || *p == 0x7f)
		{
			GUC_check_errdetail("The value must have no control characters.");
			return false;
		}
	return true;
}

static const Setting table[] = {
	{"twtasks.enabled",
		"Whether tasks may be grabbed and triggers are queued.",
		"Off stops execution in all sidecars; tasks can still be added and wait.",
	&twt_enabled, 0, 0, PGC_SIGHUP, 0, NULL},
	{"twtasks.queue_size",
		"Triggers that each shared-memory queue can hold; a power of two.",
		"A full queue loses no task: the sidecars look at the table instead.",
	&twt_queue_size, 16, 1 << 20, PGC_POSTMASTER, 0, check_queue_size},
	{"twtasks.queues",
		"Shared-memory queues, one for each bucket of each database.",
		NULL,
	&twt_queues, 1, 1024, PGC_POSTMASTER, 0, NULL},
	{"twtasks.max_payload",
		"Largest data, payload and context of a task together.",
		NULL,
	&twt_max_payload, 1024, INT_MAX, PGC_SUSET, GUC_UNIT_BYTE, check_max_payload},
	{"twtasks.keep_finished",
		"How long finished tasks are kept.",
		"Whole days of history are dropped; keys and ids can be used again then.",
	&twt_keep_finished, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MIN, NULL},
	{"twtasks.keep_audit",
		"How long entries of the audits are kept.",
		"0 keeps them for ever.",
	&keep_audit, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MIN, NULL},
	{"twtasks.keep_attempts",
		"How long attempts that did not succeed are kept.",
		"Whole days are dropped; 0 keeps no attempts.",
	&twt_keep_attempts, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MIN, NULL},
	{"twtasks.testing",
		"Whether functions for tests may be used.",
		"They run tasks out of turn, shift the clock and remove all tasks: never in production.",
	&twt_testing, 0, 0, PGC_SUSET, 0, NULL},
	{"twtasks.refuse_unknown_types",
		"Whether to refuse tasks of types that no sidecar has handled and no policy names.",
		"A type is known from the first start of a sidecar that handles it, or from twtasks.configure_type().",
	&twt_refuse_unknown_types, 0, 0, PGC_SUSET, 0, NULL},
	{"twtasks.function_timeout",
		"Time limit for a policy function that a sidecar's work waits for.",
		"After that it is cancelled, and the figures of the policy decide on retries and stuck tasks.",
	&twt_function_timeout, 1, 60000, PGC_SUSET, GUC_UNIT_MS, NULL},
};

/* The name of a pipe follows. */
static bool
check_door_directory(char **value, void **extra, GucSource source)
{
	if ((*value)[0] == '\0' || (is_absolute_path(*value) && strlen(*value) < MAXPGPATH - 20))
		return true;
	GUC_check_errdetail("The value must be an absolute path, or empty.");
	return false;
}

static void
define_setting(const Setting *s)
{
	if (s->max == 0)
		DefineCustomBoolVariable(s->name, s->what, s->more, s->target,
								 *(bool *) s->target, s->context, s->flags,
								 NULL, NULL, NULL);
	else
		DefineCustomIntVariable(s->name, s->what, s->more, s->target,
								*(int *) s->target, s->min, s->max, s->context,
								s->flags, s->check, NULL, NULL);
}

void
settings_init(void)
{
	for (int i = 0; i < (int) lengthof(table); i++)
	{
		/* Shared memory exists only when we were preloaded. */
		if (table[i].context == PGC_POSTMASTER &&
			!process_shared_preload_libraries_in_progress)
			continue;
		define_setting(&table[i]);
	}
	if (process_shared_preload_libraries_in_progress)
		DefineCustomStringVariable("twtasks.door_directory",
								   "Directory of the pipes by which a lone task reaches a waiting sidecar sooner.",
								   "Only the server's user may write to it.",
								   &twt_door_directory, "", PGC_POSTMASTER, 0,
								   check_door_directory, NULL, NULL);
	DefineCustomStringVariable("twtasks.on_behalf_of",
							   "Person for whom twtasks-web acts, for the audits.",
							   "Only members of twtasks_web may act on behalf of others.",
							   &on_behalf_of, "", PGC_USERSET, 0,
							   check_person, NULL, NULL);
	DefineCustomStringVariable("twtasks.reason",
							   "Reason for changes of settings, for the audit.",
							   NULL, &reason, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
}

TWT_FUNCTION(twt_is_enabled);
Datum
twt_is_enabled(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(twt_enabled);
}

static Datum
interval_of(int minutes)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = (TimeOffset) minutes * USECS_PER_MINUTE;
	return IntervalPGetDatum(interval);
}

TWT_FUNCTION(twt_keep_finished_interval);
Datum
twt_keep_finished_interval(PG_FUNCTION_ARGS)
{
	return interval_of(twt_keep_finished);
}

TWT_FUNCTION(twt_keep_attempts_interval);
Datum
twt_keep_attempts_interval(PG_FUNCTION_ARGS)
{
	return interval_of(twt_keep_attempts);
}
