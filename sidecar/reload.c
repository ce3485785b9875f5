/*-------------------------------------------------------------------------
 *
 * reload.c
 *		What of a new configuration a running sidecar can take.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "reload.h"

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int
count_words(char *const *words)
{
	int			n = 0;

	while (words != NULL && words[n] != NULL)
		n++;
	return n;
}

static bool
same_words(char *const *a, char *const *b, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static bool
same_handler(const HandlerConfig *a, const HandlerConfig *b)
{
	if (a->mode != b->mode || a->ntypes != b->ntypes ||
		a->processes != b->processes || a->window != b->window)
		return false;
	return same_words(a->types, b->types, a->ntypes) &&
		count_words(a->argv) == count_words(b->argv) &&
		same_words(a->argv, b->argv, count_words(a->argv)) &&
		same_text(a->function, b->function) && same_text(a->role, b->role) &&
		same_text(a->directory, b->directory);
}

bool
reload_is_possible(const Config *a, const Config *b)
{
	if (strcmp(a->postgres, b->postgres) != 0 || strcmp(a->node, b->node) != 0 ||
		a->nbuckets != b->nbuckets || a->queue != b->queue ||
		a->look_ahead != b->look_ahead || a->nhandlers != b->nhandlers)
		return false;
	if (!same_words(a->buckets, b->buckets, a->nbuckets))
		return false;
	for (int i = 0; i < a->nhandlers; i++)
		if (!same_handler(&a->handlers[i], &b->handlers[i]))
			return false;
	return true;
}
