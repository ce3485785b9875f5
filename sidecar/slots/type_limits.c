/*-------------------------------------------------------------------------
 *
 * type_limits.c
 *		The limits that are set in the database, in this node's tree of limits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "common/trigger.h"
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

/* Compared byte by byte: bytes that are not used are 0. */
typedef struct LeafKey
{
	Limit	   *bucket;
	char		type[TRIGGER_TYPE_MAX + 8];
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

struct TypeLimits
{
	Limit	   *node;
	LimitRules *rules;
	Map		   *named;			/* Nameds by key */
	Map		   *leaves;			/* Leaves by key */
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
	map_remove(limits->named, named->key);
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

	free_rested(limits);
	named->limits = limits;
	named->key = pstrdup(cover->key);
	named->limit = limit_new(cover->key + 1, 0, limits->node);
	if (rule->is_shared)
		limit_set_shared(named->limit);
	limit_set_terms(named->limit, &rule->terms);
	named->has_rule = true;
	limit_on_unused(named->limit, on_named_unused, named);
	map_set(limits->named, named->key, named);
	return named;
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
	Named	   *named = map_get(limits->named, cover->key);

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
	map_remove(limits->leaves, &leaf->key);
	limit_free(leaf->limit);
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
make_leaf(TypeLimits *limits, const LeafKey *key, Limit *handler)
{
	Leaf	   *leaf = palloc0(sizeof(Leaf));

	leaf->limits = limits;
	leaf->key = *key;
	leaf->handler = handler;
	leaf->limit = limit_new(key->type, 0, limits->node);
	if (handler != NULL)
		limit_add_across(leaf->limit, handler);
	if (key->bucket != NULL)
		limit_add_across(leaf->limit, key->bucket);
	limit_on_unused(leaf->limit, on_leaf_unused, leaf);
	map_set(limits->leaves, &leaf->key, leaf);
	place_leaf(leaf);
	return leaf;
}

Limit *
type_limits_leaf(TypeLimits *limits, const char *type, Limit *handler, Limit *bucket)
{
	LeafKey		key = {bucket};
	Leaf	   *leaf;

	strlcpy(key.type, type, sizeof(key.type));
	leaf = map_get(limits->leaves, &key);
	if (leaf == NULL)
		leaf = make_leaf(limits, &key, handler);
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
	const Named *named;
	const Leaf *leaf;
	uint64		place = 0;

	while ((named = map_next(limits->named, &place)) != NULL)
		limit_wake(named->limit);
	place = 0;
	while ((leaf = map_next(limits->leaves, &place)) != NULL)
	{
		if (leaf->handler != NULL)
			limit_wake(leaf->handler);
		if (leaf->key.bucket != NULL)
			limit_wake(leaf->key.bucket);
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
	Named	   *named;
	uint64		place = 0;

	while ((named = map_next(limits->named, &place)) != NULL)
	{
		const LimitRule *rule = limit_rules_find(limits->rules, named->key);

		named->has_rule = rule != NULL;
		limit_set_terms(named->limit, rule == NULL ? &no_terms : &rule->terms);
	}
}

/*
 * Moves all leaves to their new places.  A limit without a rule is freed when
 * its last leaf leaves.
 */
static void
place_leaves(TypeLimits *limits)
{
	Leaf	   *leaf;
	uint64		place = 0;

	while ((leaf = map_next(limits->leaves, &place)) != NULL)
		place_leaf(leaf);
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
	limits->named = map_new(0);
	limits->leaves = map_new(sizeof(LeafKey));
	dlist_init(&limits->resting);
	dlist_init(&limits->idle);
	return limits;
}

void
type_limits_free(TypeLimits *limits)
{
	type_limits_set(limits, NULL, 0);
	Assert(map_count(limits->leaves) == 0);
	Assert(map_count(limits->named) == 0);
	limit_rules_free(limits->rules);
	map_free(limits->named);
	map_free(limits->leaves);
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
	named = map_get(limits->named, key);
	return named == NULL ? NULL : named->limit;
}

int
type_limits_count(const TypeLimits *limits)
{
	return map_count(limits->named);
}
