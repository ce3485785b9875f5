/*-------------------------------------------------------------------------
 *
 * groups.c
 *		The sessions that take from one queue, grouped by the types they handle.
 *
 * A session that leaves may be the last of its group while another session
 * puts a trigger into the group's mailbox.  That trigger is lost, which does
 * no harm: a new group begins with a sweep.  The mailbox must not become
 * another group's meanwhile, so we count the sessions that are putting.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "common/hashfn.h"
#include "storage/shmem.h"

#include "common/pattern.h"
#include "queue/groups.h"
#include "queue/ring.h"

/* A larger list of types is not kept, and its group may handle any type. */
#define TYPES_BYTES 2048
#define MAIL_SIZE 256
#define LAST_GROUP (GROUPS_MAX - 1)
#define ONE(group) (UINT64CONST(1) << (group))

struct TakerGroup
{
	bool		is_used;		/* under the lock */
	bool		takes_any;
	uint64		hash;
	int			len;
	char		types[TYPES_BYTES];
	pg_atomic_uint32 putting;
	Ring		mail;
	RingCell	cells[MAIL_SIZE];
};

static TakerGroup *pool = NULL;
static int	npool = 0;

static int
pool_size(int nqueues)
{
	return Max(64, 2 * nqueues);
}

Size
groups_size(int nqueues)
{
	return mul_size(pool_size(nqueues), sizeof(TakerGroup));
}

void
groups_attach(void *memory, int nqueues, bool is_new)
{
	pool = memory;
	npool = pool_size(nqueues);
	for (int i = 0; i < npool && is_new; i++)
	{
		pool[i].is_used = false;
		pg_atomic_init_u32(&pool[i].putting, 0);
	}
}

void
groups_init(Groups *groups)
{
	pg_atomic_init_u64(&groups->present, 0);
	pg_atomic_init_u64(&groups->asked, 0);
	memset(groups->members, 0, sizeof(groups->members));
	memset(groups->group, 0, sizeof(groups->group));
}

/* ---- types ---- */

TypeList *
type_list_make(MemoryContext context, char **types, int n)
{
	Size		len = 0;
	TypeList   *list;
	char	   *at;

	for (int i = 0; i < n; i++)
		len += strlen(types[i]) + 1;
	list = MemoryContextAlloc(context, offsetof(TypeList, text) + len + 1);
	at = list->text;
	for (int i = 0; i < n; i++)
		at = stpcpy(at, types[i]) + 1;
	list->len = len;
	list->hash = DatumGetUInt64(hash_bytes_extended((unsigned char *) list->text, len, 0));
	return list;
}

static bool
fits_one(const char *text, int len, const char *type)
{
	for (const char *at = text; at < text + len; at += strlen(at) + 1)
		if (pattern_fit(at, type) > 0)
			return true;
	return false;
}

bool
type_list_fits(const TypeList *list, const char *type)
{
	return list == NULL || fits_one(list->text, list->len, type);
}

/* ---- joining and leaving ---- */

static uint64
hash_of(const TypeList *types)
{
	return types == NULL ? 0 : types->hash;
}

static int
find_group(const Groups *groups, const TypeList *types)
{
	for (int i = 0; i < LAST_GROUP; i++)
		if (groups->members[i] > 0 && groups->group[i]->hash == hash_of(types))
			return i;
	return -1;
}

static int
find_free(const Groups *groups)
{
	for (int i = 0; i < LAST_GROUP; i++)
		if (groups->members[i] == 0)
			return i;
	return LAST_GROUP;
}

static TakerGroup *
claim_mailbox(const TypeList *types)
{
	for (int i = 0; i < npool; i++)
	{
		TakerGroup *group = &pool[i];

		if (group->is_used || pg_atomic_read_u32(&group->putting) > 0)
			continue;
		group->is_used = true;
		group->hash = hash_of(types);
		group->takes_any = types == NULL || types->len > TYPES_BYTES;
		group->len = group->takes_any ? 0 : types->len;
		if (group->len > 0)
			memcpy(group->types, types->text, group->len);
		ring_init(&group->mail, group->cells, MAIL_SIZE);
		return group;
	}
	return NULL;
}

int
groups_join(Groups *groups, const TypeList *types)
{
	int			number = find_group(groups, types);

	if (number >= 0)
	{
		groups->members[number]++;
		return number;
	}
	number = find_free(groups);
	if (number < LAST_GROUP)
	{
		groups->group[number] = claim_mailbox(types);
		if (groups->group[number] == NULL)
			number = LAST_GROUP;
	}
	groups->members[number]++;

	/*
	 * The group must be complete, and asked for a sweep, before it is
	 * present.
	 */
	pg_atomic_fetch_or_u64(&groups->asked, ONE(number));
	pg_atomic_fetch_or_u64(&groups->present, ONE(number));
	return number;
}

void
groups_leave(Groups *groups, int group)
{
	if (--groups->members[group] > 0)
		return;
	pg_atomic_fetch_and_u64(&groups->present, ~ONE(group));
	pg_atomic_fetch_and_u64(&groups->asked, ~ONE(group));
	if (groups->group[group] != NULL)
		groups->group[group]->is_used = false;
}

/* ---- asking and handing on ---- */

static bool
ask(Groups *groups, int group)
{
	return (pg_atomic_fetch_or_u64(&groups->asked, ONE(group)) & ONE(group)) == 0;
}

uint64
groups_ask(Groups *groups)
{
	uint64		present = pg_atomic_read_u64(&groups->present);

	if ((present & ~pg_atomic_read_u64(&groups->asked)) == 0)
		return 0;
	return present & ~pg_atomic_fetch_or_u64(&groups->asked, present);
}

bool
groups_is_asked(Groups *groups)
{
	return pg_atomic_read_u64(&groups->asked) != 0 ||
		pg_atomic_read_u64(&groups->present) == 0;
}

bool
groups_take_asked(Groups *groups, int group)
{
	if ((pg_atomic_read_u64(&groups->asked) & ONE(group)) == 0)
		return false;
	return (pg_atomic_fetch_and_u64(&groups->asked, ~ONE(group)) & ONE(group)) != 0;
}

/* False: the group has gone, or does not handle the type. */
static bool
give(Groups *groups, int number, const TaskTrigger *trigger)
{
	TakerGroup *group = *(TakerGroup *volatile *) &groups->group[number];
	bool		fits = false;

	if (number == LAST_GROUP)
	{
		(void) ask(groups, number);
		return true;
	}
	pg_atomic_fetch_add_u32(&group->putting, 1);
	if ((pg_atomic_read_u64(&groups->present) & ONE(number)) != 0 &&
		*(TakerGroup *volatile *) &groups->group[number] == group)
	{
		fits = group->takes_any || fits_one(group->types, group->len, trigger->type);
		if (fits && !ring_push(&group->mail, trigger))
			(void) ask(groups, number);
	}
	pg_atomic_fetch_sub_u32(&group->putting, 1);
	return fits;
}

bool
groups_are_others(Groups *groups, int group)
{
	return (pg_atomic_read_u64(&groups->present) & ~ONE(group)) != 0;
}

uint64
groups_hand_on(Groups *groups, int group, const TaskTrigger *trigger)
{
	uint64		others = pg_atomic_read_u64(&groups->present) & ~ONE(group);
	uint64		takers = 0;

	for (int i = 0; others != 0; i++, others >>= 1)
		if ((others & 1) != 0 && give(groups, i, trigger))
			takers |= ONE(i);
	return takers;
}

bool
groups_pop(Groups *groups, int group, TaskTrigger *trigger)
{
	return groups->group[group] != NULL && ring_pop(&groups->group[group]->mail, trigger);
}

bool
groups_has_news(Groups *groups, int group)
{
	return (pg_atomic_read_u64(&groups->asked) & ONE(group)) != 0 ||
		(groups->group[group] != NULL && ring_has_news(&groups->group[group]->mail));
}
