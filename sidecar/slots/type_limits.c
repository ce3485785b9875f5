/*-------------------------------------------------------------------------
 *
 * type_limits.c
 *		The limits that are set in the database, in this node's tree of limits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/hashfn.h"
#include "common/logging.h"

#include "slots/type_limits.h"

/* We keep this many unused leaves for the next task of their type. */
#define IDLE_MAX 256

/* The limit of a rule. */
typedef struct Named
{
	dlist_node	node;			/* in TypeLimits.resting */
	bool		is_resting;		/* unused, but earlier starts still count for
								 * its rate */
	bool		has_rule;
	TypeLimits *limits;
	Limit	   *limit;
	struct Named *parent;
	char	   *key;			/* as in LimitCover */
} Named;

typedef struct LeafKey
{
	char	   *type;
	Limit	   *bucket;
} LeafKey;

typedef struct Leaf
{
	dlist_node	node;			/* in TypeLimits.idle */
	bool		is_idle;
	TypeLimits *limits;
	Limit	   *limit;
	Limit	   *handler;
	Named	   *parent;
	LeafKey		key;
} Leaf;

typedef struct NamedEntry
{
	const char *key;
	Named	   *named;
	uint32		hash;
	char		status;
} NamedEntry;

typedef struct LeafEntry
{
	LeafKey		key;
	Leaf	   *leaf;
	uint32		hash;
	char		status;
} LeafEntry;

#define SH_PREFIX named
#define SH_ELEMENT_TYPE NamedEntry
#define SH_KEY_TYPE const char *
#define SH_KEY key
#define SH_HASH_KEY(tb, key) hash_bytes((const uint8 *) key, strlen(key))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static inline uint32
leaf_hash(LeafKey key)
{
	uintptr_t	bucket = (uintptr_t) key.bucket;

	return hash_combine(hash_bytes((const uint8 *) key.type, strlen(key.type)),
						hash_bytes((const uint8 *) &bucket, sizeof(bucket)));
}

#define SH_PREFIX leaves
#define SH_ELEMENT_TYPE LeafEntry
#define SH_KEY_TYPE LeafKey
#define SH_KEY key
#define SH_HASH_KEY(tb, key) leaf_hash(key)
#define SH_EQUAL(tb, a, b) (a.bucket == b.bucket && strcmp(a.type, b.type) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct TypeLimits
{
	Limit	   *node;
	LimitRules *rules;
	named_hash *named;
	leaves_hash *leaves;
	dlist_head	resting;		/* Nameds */
	dlist_head	idle;			/* Leaves, the longest idle first */
	int			nidle;
};

/* ---- the limits of rules ---- */

static void
free_named(Named *named)
{
	TypeLimits *limits = named->limits;
	Named	   *parent = named->parent;

	if (named->is_resting)
		dlist_delete(&named->node);
	named_delete(limits->named, named->key);
	limit_free(named->limit);
	pfree(named->key);
	pfree(named);
	if (parent != NULL)
		limit_release(parent->limit);
}

/* Frees rested limits from the head: they become rested roughly in list order. */
static void
free_rested(TypeLimits *limits)
{
	while (!dlist_is_empty(&limits->resting))
	{
		Named	   *named = dlist_head_element(Named, node, &limits->resting);

		if (named->has_rule && !limit_is_rested(named->limit))
			return;
		free_named(named);
	}
}

static void
on_named_unused(void *arg, Limit *limit)
{
	Named	   *named = arg;

	if (named->has_rule && !limit_is_rested(limit))
	{
		named->is_resting = true;
		dlist_push_tail(&named->limits->resting, &named->node);
		return;
	}
	free_named(named);
}

static Named *
make_named(TypeLimits *limits, const LimitCover *cover)
{
	const LimitRule *rule = cover->rule;
	Named	   *named = palloc0(sizeof(Named));
	bool		found;

	free_rested(limits);
	named->limits = limits;
	named->key = pstrdup(cover->key);
	named->limit = limit_new(cover->key + 1, 0, limits->node);
	if (rule->is_shared)
		limit_set_shared(named->limit);
	limit_set_terms(named->limit, &rule->terms);
	named->has_rule = true;
	limit_on_unused(named->limit, on_named_unused, named);
	named_insert(limits->named, named->key, &found)->named = named;
	return named;
}

static Named *
find_named(const TypeLimits *limits, const char *key)
{
	NamedEntry *entry = named_lookup(limits->named, key);

	return entry == NULL ? NULL : entry->named;
}

/* Moves a limit or a leaf below another parent. */
static void
move_below(Limit *limit, Named **place, Named *parent, Limit *node)
{
	Named	   *before = *place;

	if (before == parent)
		return;
	limit_set_parent(limit, parent == NULL ? node : parent->limit);
	if (parent != NULL)
		limit_keep(parent->limit);
	*place = parent;
	if (before != NULL)
		limit_release(before->limit);
}

/* The limit of a rule, placed below parent; made on first use. */
static Named *
get_named(TypeLimits *limits, const LimitCover *cover, Named *parent)
{
	Named	   *named = find_named(limits, cover->key);

	if (named == NULL)
		named = make_named(limits, cover);
	else if (named->is_resting)
	{
		named->is_resting = false;
		dlist_delete(&named->node);
	}
	move_below(named->limit, &named->parent, parent, limits->node);
	return named;
}

/*
 * Each limit is kept by the limits below it.  A new limit has none yet, so the
 * loop keeps the last one itself.
 */
static void
place_leaf(Leaf *leaf)
{
	TypeLimits *limits = leaf->limits;
	LimitCover *covers;
	int			n = limit_rules_cover(limits->rules, leaf->key.type, &covers);
	Named	   *parent = NULL;

	for (int i = 0; i < n; i++)
	{
		Named	   *above = parent;

		parent = get_named(limits, &covers[i], above);
		limit_keep(parent->limit);
		if (above != NULL)
			limit_release(above->limit);
	}
	move_below(leaf->limit, &leaf->parent, parent, limits->node);
	if (parent != NULL)
		limit_release(parent->limit);
	pfree(covers);
}

/* ---- leaves ---- */

static void
free_leaf(Leaf *leaf)
{
	TypeLimits *limits = leaf->limits;
	Named	   *parent = leaf->parent;

	if (leaf->is_idle)
	{
		dlist_delete(&leaf->node);
		limits->nidle--;
	}
	leaves_delete(limits->leaves, leaf->key);
	limit_free(leaf->limit);
	pfree(leaf->key.type);
	pfree(leaf);
	if (parent != NULL)
		limit_release(parent->limit);
}

static void
free_first_idle(TypeLimits *limits)
{
	free_leaf(dlist_head_element(Leaf, node, &limits->idle));
}

static void
on_leaf_unused(void *arg, Limit *limit)
{
	Leaf	   *leaf = arg;
	TypeLimits *limits = leaf->limits;

	leaf->is_idle = true;
	dlist_push_tail(&limits->idle, &leaf->node);
	limits->nidle++;
	if (limits->nidle > IDLE_MAX)
		free_first_idle(limits);
}

static Leaf *
make_leaf(TypeLimits *limits, const char *type, Limit *handler, Limit *bucket)
{
	Leaf	   *leaf = palloc0(sizeof(Leaf));
	bool		found;

	leaf->limits = limits;
	leaf->key.type = pstrdup(type);
	leaf->key.bucket = bucket;
	leaf->handler = handler;
	leaf->limit = limit_new(type, 0, limits->node);
	if (handler != NULL)
		limit_add_across(leaf->limit, handler);
	if (bucket != NULL)
		limit_add_across(leaf->limit, bucket);
	limit_on_unused(leaf->limit, on_leaf_unused, leaf);
	leaves_insert(limits->leaves, leaf->key, &found)->leaf = leaf;
	place_leaf(leaf);
	return leaf;
}

Limit *
type_limits_leaf(TypeLimits *limits, const char *type, Limit *handler, Limit *bucket)
{
	LeafKey		key = {unconstify(char *, type), bucket};
	LeafEntry  *entry = leaves_lookup(limits->leaves, key);
	Leaf	   *leaf = entry == NULL ? make_leaf(limits, type, handler, bucket) : entry->leaf;

	Assert(leaf->handler == handler);
	if (leaf->is_idle)
	{
		leaf->is_idle = false;
		dlist_delete(&leaf->node);
		limits->nidle--;
	}
	limit_keep(leaf->limit);
	return leaf->limit;
}

/* ---- the whole tree ---- */

/* Wakes all waiters, since their limits may go away or get more room. */
static void
wake_all(TypeLimits *limits)
{
	named_iterator named;
	leaves_iterator leaf;
	NamedEntry *named_entry;
	LeafEntry  *leaf_entry;

	named_start_iterate(limits->named, &named);
	while ((named_entry = named_iterate(limits->named, &named)) != NULL)
		limit_wake(named_entry->named->limit);
	leaves_start_iterate(limits->leaves, &leaf);
	while ((leaf_entry = leaves_iterate(limits->leaves, &leaf)) != NULL)
	{
		if (leaf_entry->leaf->handler != NULL)
			limit_wake(leaf_entry->leaf->handler);
		if (leaf_entry->key.bucket != NULL)
			limit_wake(leaf_entry->key.bucket);
	}
	limit_wake(limits->node);
}

/*
 * A limit that has lost its rule stays without effect while limits below it
 * stay.
 */
static void
set_named(TypeLimits *limits)
{
	static const LimitTerms no_terms = {.max = -1};
	named_iterator iter;
	NamedEntry *entry;

	named_start_iterate(limits->named, &iter);
	while ((entry = named_iterate(limits->named, &iter)) != NULL)
	{
		const LimitRule *rule = limit_rules_find(limits->rules, entry->key);

		entry->named->has_rule = rule != NULL;
		limit_set_terms(entry->named->limit, rule == NULL ? &no_terms : &rule->terms);
	}
}

/*
 * Moves all leaves to their new places.  A limit without a rule is freed when
 * its last leaf leaves.
 */
static void
place_leaves(TypeLimits *limits)
{
	leaves_iterator iter;
	LeafEntry  *entry;

	leaves_start_iterate(limits->leaves, &iter);
	while ((entry = leaves_iterate(limits->leaves, &iter)) != NULL)
		place_leaf(entry->leaf);
}

static void
free_unruled(TypeLimits *limits)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &limits->resting)
	{
		Named	   *named = dlist_container(Named, node, iter.cur);

		if (!named->has_rule)
			free_named(named);
	}
}

void
type_limits_set(TypeLimits *limits, const LimitRule *rules, int n)
{
	while (limits->nidle > 0)
		free_first_idle(limits);
	wake_all(limits);
	limit_rules_set(limits->rules, rules, n);
	set_named(limits);
	place_leaves(limits);
	free_unruled(limits);
}

TypeLimits *
type_limits_new(Limit *node)
{
	TypeLimits *limits = palloc0(sizeof(TypeLimits));

	limits->node = node;
	limits->rules = limit_rules_new();
	limits->named = named_create(16, NULL);
	limits->leaves = leaves_create(64, NULL);
	dlist_init(&limits->resting);
	dlist_init(&limits->idle);
	return limits;
}

void
type_limits_free(TypeLimits *limits)
{
	type_limits_set(limits, NULL, 0);
	Assert(limits->leaves->members == 0);
	Assert(limits->named->members == 0);
	limit_rules_free(limits->rules);
	named_destroy(limits->named);
	leaves_destroy(limits->leaves);
	pfree(limits);
}

Limit *
type_limits_find_shared(const TypeLimits *limits, const char *name)
{
	char		key[LIMIT_KEY_SIZE];
	Named	   *named;

	if (strlen(name) > LIMIT_NAME_MAX)
		return NULL;
	key[0] = LIMIT_KEY_SHARED;
	strlcpy(key + 1, name, sizeof(key) - 1);
	named = find_named(limits, key);
	return named == NULL ? NULL : named->limit;
}

int
type_limits_count(const TypeLimits *limits)
{
	return (int) limits->named->members;
}
