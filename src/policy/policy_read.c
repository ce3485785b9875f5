/*-------------------------------------------------------------------------
 *
 * policy_read.c
 *		Rows of twtasks.type_policy, read.
 *
 * configure_type() has checked the options; we only convert them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "base/interval.h"
#include "base/json_value.h"
#include "policy/policy_read.h"

/* Columns of twtasks.type_policy. */
enum
{
	POLICY_PATTERN = 1,
	POLICY_OPTIONS
};

static const ShapeColumn policy_columns[] = {
	{"pattern", TEXTOID},
	{"options", JSONBOID}
};

const Shape policy_shape = SHAPE_BY_NUMBER("type_policy", policy_columns);

const TypePolicy policy_unset = {
	.priority = -1,
	.queue_time_us = -1,
	.when_done = -1,
	.aging_us = -1,
	.timeout_us = -1,
	.resets_tries = -1,
	.waits_for_deadline = -1
};

/* ---- one option; NULL or unset when it is not set ---- */

static JsonbValue *
find_option(Jsonb *options, const char *name)
{
	JsonbValue *value = getKeyJsonValueFromContainer(&options->root, name, strlen(name), NULL);

	return value == NULL || value->type == jbvNull ? NULL : value;
}

static char *
text_option(Jsonb *options, const char *name)
{
	JsonbValue *value = find_option(options, name);

	return value == NULL ? NULL : json_value_text(value);
}

static int
int_option(Jsonb *options, const char *name, int unset)
{
	char	   *text = text_option(options, name);

	return text == NULL ? unset : pg_strtoint32(text);
}

static int
bool_option(Jsonb *options, const char *name, int unset)
{
	char	   *text = text_option(options, name);

	return text == NULL ? unset : strcmp(text, "true") == 0;
}

static int64
interval_option(Jsonb *options, const char *name, int64 unset)
{
	char	   *text = text_option(options, name);

	if (text == NULL)
		return unset;
	return interval_us(DatumGetIntervalP(DirectFunctionCall3(interval_in, CStringGetDatum(text),
															 ObjectIdGetDatum(InvalidOid),
															 Int32GetDatum(-1))));
}

static Jsonb *
json_option(Jsonb *options, const char *name)
{
	JsonbValue *value = find_option(options, name);

	return value == NULL ? NULL : JsonbValueToJsonb(value);
}

static char **
list_option(Jsonb *options, const char *name)
{
	JsonbValue *value = find_option(options, name);
	char	  **list;
	int			n;

	if (value == NULL)
		return NULL;
	n = JsonContainerSize(value->val.binary.data);
	list = palloc0((n + 1) * sizeof(char *));
	for (int i = 0; i < n; i++)
		list[i] = json_value_text(getIthJsonbValueFromContainer(value->val.binary.data, i));
	return list;
}

static int
done_option(Jsonb *options, const char *name)
{
	static const char *const labels[] = {
		[DONE_KEEP] = "keep",[DONE_CLEAR] = "clear",[DONE_DELETE] = "delete"
	};
	char	   *label = text_option(options, name);

	for (int i = 0; label != NULL && i < (int) lengthof(labels); i++)
		if (strcmp(label, labels[i]) == 0)
			return i;
	return policy_unset.when_done;
}

static int
takeover_option(Jsonb *options, const char *name)
{
	char	   *label = text_option(options, name);

	return label == NULL ? policy_unset.waits_for_deadline : strcmp(label, "deadline") == 0;
}

/* ---- rules ---- */

static void
read_options(Jsonb *json, TypePolicy *options)
{
	const TypePolicy *unset = &policy_unset;

	*options = *unset;
	options->bucket = text_option(json, "bucket");
	options->priority = int_option(json, "priority", unset->priority);
	options->queue_time_us = interval_option(json, "queue_time", unset->queue_time_us);
	options->expires_after_us = interval_option(json, "expires_after", unset->expires_after_us);
	options->when_done = done_option(json, "when_done");
	options->nodes = list_option(json, "nodes");
	options->intercept = text_option(json, "intercept");
	options->aging_us = interval_option(json, "aging", unset->aging_us);
	options->timeout_us = interval_option(json, "timeout", unset->timeout_us);
	options->stuck = text_option(json, "stuck");
	options->stuck_function = text_option(json, "stuck_function");
	options->retry = json_option(json, "retry");
	options->retry_function = text_option(json, "retry_function");
	options->resets_tries = bool_option(json, "reset_tries", unset->resets_tries);
	options->on_end = text_option(json, "on_end");
	options->waits_for_deadline = takeover_option(json, "takeover");
}

/* Patterns with a star first, the shorter before the longer. */
static int
compare_rules(const void *a, const void *b)
{
	const char *x = ((const PolicyRule *) a)->pattern;
	const char *y = ((const PolicyRule *) b)->pattern;
	size_t		xlen = strlen(x);
	size_t		ylen = strlen(y);
	bool		xstar = x[xlen - 1] == '*';
	bool		ystar = y[ylen - 1] == '*';

	if (xstar != ystar)
		return xstar ? -1 : 1;
	return (xlen > ylen) - (xlen < ylen);
}

PolicyRule *
policy_read_rules(const CachedRows *rows)
{
	PolicyRule *rules = palloc0((rows->n + 1) * sizeof(PolicyRule));

	for (int i = 0; i < rows->n; i++)
	{
		rules[i].pattern = cached_text(rows, i, POLICY_PATTERN);
		read_options(DatumGetJsonbP(PointerGetDatum(cached_pointer(rows, i, POLICY_OPTIONS))),
					 &rules[i].options);
	}
	qsort(rules, rows->n, sizeof(PolicyRule), compare_rules);
	return rules;
}
