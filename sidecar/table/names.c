#include "base/port.h"

#include "table/names.h"

struct Names
{
	int			n;
	int			max;
	char	   *names[FLEXIBLE_ARRAY_MEMBER];
};

Names *
names_new(int max)
{
	Names	   *names = palloc(offsetof(Names, names) + max * sizeof(char *));

	names->n = 0;
	names->max = max;
	return names;
}

void
names_free(Names *names)
{
	names_clear(names);
	pfree(names);
}

bool
names_has(const Names *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (strcmp(names->names[i], name) == 0)
			return true;
	return false;
}

bool
names_add(Names *names, const char *name)
{
	if (names->n == names->max || names_has(names, name))
		return false;
	names->names[names->n++] = pstrdup(name);
	return true;
}

void
names_clear(Names *names)
{
	while (names->n > 0)
		pfree(names->names[--names->n]);
}

int
names_count(const Names *names)
{
	return names->n;
}

const char *
names_get(const Names *names, int i)
{
	return names->names[i];
}
