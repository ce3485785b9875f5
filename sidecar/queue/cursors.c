/*-------------------------------------------------------------------------
 *
 * cursors.c
 *		Where the next look at a type's rows continues.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/trigger.h"
#include "queue/cursors.h"

/* Types beyond this number have no cursor: their looks start at the head. */
#define CURSORS_MAX 64

typedef struct Cursor
{
	char	   *type;
	uint8		id[TRIGGER_ID_BYTES];
	bool		is_used;		/* used by the current look, and not set since */
} Cursor;

struct Cursors
{
	int			n;
	Cursor		all[CURSORS_MAX];
};

Cursors *
cursors_new(void)
{
	return palloc0(sizeof(Cursors));
}

void
cursors_free(Cursors *cursors)
{
	cursors_clear(cursors);
	pfree(cursors);
}

void
cursors_clear(Cursors *cursors)
{
	while (cursors->n > 0)
		pfree(cursors->all[--cursors->n].type);
}

bool
cursors_any(const Cursors *cursors)
{
	return cursors->n > 0;
}

static Cursor *
find(Cursors *cursors, const char *type)
{
	for (int i = 0; i < cursors->n; i++)
		if (strcmp(cursors->all[i].type, type) == 0)
			return &cursors->all[i];
	return NULL;
}

void
cursors_set(Cursors *cursors, const char *type, const uint8 *id)
{
	Cursor	   *cursor = find(cursors, type);

	if (cursor == NULL && cursors->n == CURSORS_MAX)
		return;
	if (cursor == NULL)
	{
		cursor = &cursors->all[cursors->n++];
		cursor->type = pstrdup(type);
	}
	memcpy(cursor->id, id, TRIGGER_ID_BYTES);
	cursor->is_used = false;
}

void
cursors_use(Cursors *cursors, const Names *except, WireParams *params)
{
	int			n = 0;

	for (int i = 0; i < cursors->n; i++)
		cursors->all[i].is_used = !names_has(except, cursors->all[i].type);
	for (int i = 0; i < cursors->n; i++)
		n += cursors->all[i].is_used;
	wire_add_array(params, WIRE_UUID, n);
	for (int i = 0; i < cursors->n; i++)
		if (cursors->all[i].is_used)
			wire_uuid(params, cursors->all[i].id);
}

void
cursors_end(Cursors *cursors, void (*fn) (void *arg, const char *type), void *arg)
{
	int			kept = 0;

	for (int i = 0; i < cursors->n; i++)
	{
		Cursor	   *cursor = &cursors->all[i];

		if (!cursor->is_used)
		{
			cursors->all[kept++] = *cursor;
			continue;
		}
		fn(arg, cursor->type);
		pfree(cursor->type);
	}
	cursors->n = kept;
}
