/*-------------------------------------------------------------------------
 *
 * known_type.c
 *		Refuses tasks of types that no sidecar or policy has announced.
 *
 *		from: check.c			to: sql/watch/blockers.sql (is_known_type)
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "add/known_type.h"
#include "base/plan.h"
#include "base/settings.h"
#include "base/shown.h"
#include "common/trigger.h"

/* A known type that differs by more changes than this is not suggested. */
#define NEAR_MAX 3

/*
 * Returns the known type that is the fewest changes away, patterns excluded;
 * NULL if none is near.
 */
static char *
nearest_type(const char *type)
{
	int			len = strlen(type);
	int			least = Min(NEAR_MAX, len / 2) + 1;
	char	   *nearest = NULL;
	uint64		n = plan_execute(PLAN_KNOWN_TYPES, NULL, NULL);

	for (uint64 i = 0; i < n && least > 1; i++)
	{
		char	   *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		int			changes;

		if (name == NULL || strchr(name, '*') != NULL || strlen(name) > TRIGGER_TYPE_MAX)
			continue;
		changes = varstr_levenshtein_less_equal(type, len, name, strlen(name),
												1, 1, 1, least, true);
		if (changes >= least)
			continue;
		least = changes;
		nearest = name;
	}
	return nearest;
}

static void
refuse(const char *type)
{
	char	   *nearest = nearest_type(type);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("unrecognized type: \"%s\"", shown_value(type)),
			 errdetail("No sidecar has handled it in the last 30 days, and no policy names it."),
			 nearest != NULL ? errhint("Perhaps you meant \"%s\".", nearest) :
			 errhint("Start a sidecar that handles it, or announce it with twtasks.configure_type().")));
}

void
known_type_check(const char *type)
{
	static char last[TRIGGER_TYPE_MAX + 1];
	static TimestampTz last_at = 0;
	Datum		values[1];
	int			pinned;

	if (likely(!twt_refuse_unknown_types) ||
		(last_at == GetCurrentTransactionStartTimestamp() && strcmp(last, type) == 0))
		return;
	pinned = plan_begin();
	values[0] = CStringGetTextDatum(type);
	if (plan_execute(PLAN_IS_KNOWN_TYPE, values, NULL) == 0)
		refuse(type);
	plan_end(pinned);
	strlcpy(last, type, sizeof(last));
	last_at = GetCurrentTransactionStartTimestamp();
}
