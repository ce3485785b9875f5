/*-------------------------------------------------------------------------
 *
 * cursors.c
 *		Where the next look at a type's rows goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "common/trigger.h"
#include "cursors.h"

/* Types with a backlog; those beyond are looked at from the head. */
#define CURSORS_MAX 64

typedef struct Cursor
{
	char	   *type;
	uint8		id[TRIGGER_ID_BYTES];
	bool		is_used;		/* and not set since */
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
cursor_of(Cursors *cursors, const char *type)
{
	for (int i = 0; i < cursors->n; i++)
		if (strcmp(cursors->all[i].type, type) == 0)
			return &cursors->all[i];
	if (cursors->n == CURSORS_MAX)
		return NULL;
	cursors->all[cursors->n].type = pstrdup(type);
	return &cursors->all[cursors->n++];
}

void
cursors_set(Cursors *cursors, const char *type, const uint8 *id)
{
	Cursor	   *cursor = cursor_of(cursors, type);

	if (cursor == NULL)
		return;
	memcpy(cursor->id, id, TRIGGER_ID_BYTES);
	cursor->is_used = false;
}

void
cursors_use(Cursors *cursors, WireParams *params)
{
	wire_add_uuid_array(params, cursors->n);
	for (int i = 0; i < cursors->n; i++)
	{
		wire_uuid(params, cursors->all[i].id);
		cursors->all[i].is_used = true;
	}
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
