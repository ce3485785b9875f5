/*-------------------------------------------------------------------------
 *
 * limits_model.c
 *		What limits mean, literally: nothing is remembered but what happened.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "limits_model.h"

static bool
begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The type is X, or begins with X|. */
static bool
is_of(const char *type, const char *x)
{
	size_t		len = strlen(x);

	return begins(type, x) && (type[len] == '\0' || type[len] == '|');
}

/* The part of the type that a pattern X|* tells apart: X|K. */
static void
key_of(const char *pattern, const char *type, char *key)
{
	size_t		len = strlen(pattern) - 1;

	strlcpy(key, type, 64);
	key[len + strcspn(type + len, "|")] = '\0';
}

static bool
ends(const char *text, const char *end)
{
	size_t		len = strlen(text);

	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static bool
covers(const Model *model, int rule, const char *type)
{
	const LimitRule *r = &model->rules[rule];
	char		body[64];
	char		key[64];

	if (!ends(r->pattern, "*"))
		return is_of(type, r->pattern);
	strlcpy(body, r->pattern, sizeof(body));
	body[strlen(body) - 1] = '\0';
	if (!begins(type, body))
		return false;
	if (!ends(r->pattern, "|*"))
		return true;
	/* a limit of its own for that key takes the place of this one */
	key_of(r->pattern, type, key);
	for (int i = 0; i < model->nrules; i++)
		if (model->rules[i].is_shared == r->is_shared &&
			strcmp(model->rules[i].pattern, key) == 0)
			return false;
	return true;
}

bool
model_together(const Model *model, int rule, const char *a, const char *b)
{
	const char *pattern = model->rules[rule].pattern;
	char		key[64];

	if (!covers(model, rule, a) || !covers(model, rule, b))
		return false;
	if (!ends(pattern, "|*"))
		return true;
	key_of(pattern, a, key);
	return is_of(b, key);
}

static int
count_tasks(const Model *model, int rule, const char *type)
{
	int			n = 0;

	for (int i = 0; i < MODEL_TASKS; i++)
	{
		const ModelTask *task = &model->tasks[i];

		if (task->is_used && model_together(model, rule, type, task->type) &&
			(!task->is_over || model->rules[rule].is_shared))
			n++;
	}
	return n;
}

/* Booked ones that have not started yet may all start now. */
static int
count_pending(const Model *model, int rule, const char *type)
{
	int			n = 0;

	for (int i = 0; i < MODEL_TASKS; i++)
		if (model->tasks[i].is_used && !model->tasks[i].is_started &&
			model_together(model, rule, type, model->tasks[i].type))
			n++;
	return n;
}

/*
 * In any time there may be a burst, and one more for each step of that time.
 * So from each start up to now, the new one included.
 */
static bool
rate_allows(const Model *model, int rule, const char *type)
{
	const LimitTerms *terms = &model->rules[rule].terms;
	int64		n = count_pending(model, rule, type) + 1;
	int64		step_ns;

	if (terms->rate == 0)
		return true;
	step_ns = (terms->period_us * 1000 + terms->rate - 1) / terms->rate;
	if (n > terms->burst)
		return false;
	for (int i = model->nstarts - 1; i >= 0; i--)
	{
		const ModelStart *start = &model->starts[i];

		if (start->at_us <= model->since_us[rule] ||
			!model_together(model, rule, type, start->type))
			continue;
		n++;
		if ((n - terms->burst) * step_ns > (model->now_us - start->at_us) * 1000)
			return false;
	}
	return true;
}

static bool
rule_allows(const Model *model, int rule, const char *type, int priority)
{
	const LimitTerms *terms = &model->rules[rule].terms;

	if (!covers(model, rule, type))
		return true;
	if (terms->max >= 0 &&
		count_tasks(model, rule, type) >=
		terms->max + (priority <= terms->stretch_priority ? terms->stretch : 0))
		return false;
	return rate_allows(model, rule, type);
}

int
model_used(const Model *model, int handler)
{
	int			n = 0;

	for (int i = 0; i < MODEL_TASKS; i++)
		if (model->tasks[i].is_used && !model->tasks[i].is_over &&
			(handler < 0 || model->tasks[i].handler == handler))
			n++;
	return n;
}

static int
bucket_used(const Model *model, int bucket)
{
	int			n = 0;

	for (int i = 0; i < MODEL_TASKS; i++)
		n += model->tasks[i].is_used && !model->tasks[i].is_over &&
			model->tasks[i].bucket == bucket;
	return n;
}

bool
model_may_book(const Model *model, const char *type, int handler, int bucket,
			   int priority)
{
	if (model->bucket_max[bucket] >= 0 &&
		bucket_used(model, bucket) >= model->bucket_max[bucket])
		return false;
	if ((model->node_max > 0 && model_used(model, -1) >= model->node_max) ||
		(model->handler_max[handler] > 0 &&
		 model_used(model, handler) >= model->handler_max[handler]))
		return false;
	for (int i = 0; i < model->nrules; i++)
		if (!rule_allows(model, i, type, priority))
			return false;
	return true;
}

int
model_book(Model *model, const char *type, int handler, int bucket)
{
	int			place = 0;

	while (model->tasks[place].is_used)
		place++;
	model->tasks[place] = (ModelTask)
	{
		.is_used = true, .type = type, .handler = handler, .bucket = bucket
	};
	return place;
}

void
model_start(Model *model, int task)
{
	ModelStart *start = &model->starts[model->nstarts++];

	model->tasks[task].is_started = true;
	start->type = model->tasks[task].type;
	start->at_us = model->now_us;
}
