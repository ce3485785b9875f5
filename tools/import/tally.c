/*-------------------------------------------------------------------------
 *
 * tally.c
 *		Counts of an import.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "tools/import/tally.h"

struct Tallies
{
	Map		   *by_status;		/* maps of tallies, by type */
	Map		   *proofs;
};

/* Tallies of a status. */
typedef struct Group
{
	char	   *status;
	Map		   *tallies;
} Group;

Tallies *
tallies_new(void)
{
	Tallies    *tallies = palloc0(sizeof(Tallies));

	tallies->by_status = map_new(0);
	tallies->proofs = map_new(0);
	return tallies;
}

static void
free_group(Group *group)
{
	uint64		place = 0;
	Tally	   *tally;

	while ((tally = map_next(group->tallies, &place)) != NULL)
	{
		pfree(tally->type);
		pfree(tally);
	}
	map_free(group->tallies);
	pfree(group->status);
	pfree(group);
}

void
tallies_free(Tallies *tallies)
{
	uint64		place = 0;
	Group	   *group;
	Proof	   *proof;

	while ((group = map_next(tallies->by_status, &place)) != NULL)
		free_group(group);
	place = 0;
	while ((proof = map_next(tallies->proofs, &place)) != NULL)
	{
		pfree(proof->status);
		pfree(proof);
	}
	map_free(tallies->by_status);
	map_free(tallies->proofs);
	pfree(tallies);
}

static Group *
group_of(Tallies *tallies, const char *status)
{
	Group	   *group = map_get(tallies->by_status, status);

	if (group == NULL)
	{
		group = palloc0(sizeof(Group));
		group->status = pstrdup(status);
		group->tallies = map_new(0);
		map_set(tallies->by_status, group->status, group);
	}
	return group;
}

Tally *
tallies_of(Tallies *tallies, const char *status, const char *type)
{
	Group	   *group = group_of(tallies, status);
	Tally	   *tally = map_get(group->tallies, type);

	if (tally == NULL)
	{
		tally = palloc0(sizeof(Tally));
		tally->status = group->status;
		tally->type = pstrdup(type);
		map_set(group->tallies, tally->type, tally);
	}
	return tally;
}

Proof *
tallies_proof(Tallies *tallies, const char *status)
{
	Proof	   *proof = map_get(tallies->proofs, status);

	if (proof == NULL)
	{
		proof = palloc0(sizeof(Proof));
		proof->status = pstrdup(status);
		map_set(tallies->proofs, proof->status, proof);
	}
	return proof;
}

static int
compare_tallies(const void *a, const void *b)
{
	const Tally *one = *(Tally *const *) a;
	const Tally *other = *(Tally *const *) b;
	int			order = strcmp(one->status, other->status);

	return order ? order : strcmp(one->type, other->type);
}

Tally	  **
tallies_all(const Tallies *tallies, int *n)
{
	Tally	  **all = palloc(sizeof(Tally *));
	uint64		place = 0;
	Group	   *group;

	*n = 0;
	while ((group = map_next(tallies->by_status, &place)) != NULL)
	{
		uint64		within = 0;
		Tally	   *tally;

		all = repalloc(all, (*n + map_count(group->tallies) + 1) * sizeof(Tally *));
		while ((tally = map_next(group->tallies, &within)) != NULL)
			all[(*n)++] = tally;
	}
	qsort(all, *n, sizeof(Tally *), compare_tallies);
	return all;
}

static int
compare_proofs(const void *a, const void *b)
{
	return strcmp((*(Proof *const *) a)->status, (*(Proof *const *) b)->status);
}

Proof	  **
tallies_proofs(const Tallies *tallies, int *n)
{
	Proof	  **all = palloc((map_count(tallies->proofs) + 1) * sizeof(Proof *));
	uint64		place = 0;
	Proof	   *proof;

	*n = 0;
	while ((proof = map_next(tallies->proofs, &place)) != NULL)
		all[(*n)++] = proof;
	qsort(all, *n, sizeof(Proof *), compare_proofs);
	return all;
}

Tally
tallies_sum(const Tallies *tallies, const char *status)
{
	int			n;
	Tally	  **all = tallies_all(tallies, &n);
	Tally		sum = {0};

	for (int i = 0; i < n; i++)
		if (status == NULL || strcmp(all[i]->status, status) == 0)
		{
			sum.tasks += all[i]->tasks;
			sum.added += all[i]->added;
			sum.present += all[i]->present;
			sum.gone += all[i]->gone;
			sum.refused += all[i]->refused;
			sum.clamped += all[i]->clamped;
		}
	pfree(all);
	return sum;
}
