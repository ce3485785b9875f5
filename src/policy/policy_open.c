/*-------------------------------------------------------------------------
 *
 * policy_open.c
 *		Which buckets exist, and what is paused, as this session knows it.
 *
 *		from: sql/policy/pause.sql		to: check.c, grab.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"

#include "base/new_task.h"
#include "base/table_cache.h"
#include "common/pattern.h"
#include "policy/policy.h"

/* The first column of twtasks.bucket_policy, and columns of twtasks.pause. */
enum
{
	BUCKET_NAME = 1,
	PAUSE_KIND = 1,
	PAUSE_NAME
};

static const ShapeColumn bucket_columns[] = {
	{"name", TEXTOID}
};

static const ShapeColumn pause_columns[] = {
	{"kind", TEXTOID},
	{"name", TEXTOID}
};

static const Shape bucket_shape = SHAPE_BY_NUMBER("bucket_policy", bucket_columns);
static const Shape pause_shape = SHAPE_BY_NUMBER("pause", pause_columns);

typedef struct Pause
{
	bool		is_type;		/* else a bucket */
	char	   *name;			/* a bucket, or a pattern of types */
} Pause;

static TableCache *bucket_cache;
static char **buckets;			/* besides the default one */
static int	nbuckets;

static TableCache *pause_cache;
static Pause *pauses;
static int	npauses;

static void
read_buckets(const CachedRows *rows)
{
	nbuckets = rows->n;
	buckets = palloc((nbuckets + 1) * sizeof(char *));
	for (int i = 0; i < nbuckets; i++)
		buckets[i] = cached_text(rows, i, BUCKET_NAME);
}

static void
read_pauses(const CachedRows *rows)
{
	npauses = rows->n;
	pauses = palloc((npauses + 1) * sizeof(Pause));
	for (int i = 0; i < npauses; i++)
	{
		pauses[i].is_type = strcmp(cached_text(rows, i, PAUSE_KIND), "type") == 0;
		pauses[i].name = cached_text(rows, i, PAUSE_NAME);
	}
}

void
policy_open_init(void)
{
	static const CachedTable bucket_table = {&bucket_shape, read_buckets};
	static const CachedTable pause_table = {&pause_shape, read_pauses};

	bucket_cache = table_cache_new(&bucket_table);
	pause_cache = table_cache_new(&pause_table);
}

bool
policy_bucket_exists(const char *bucket)
{
	if (strcmp(bucket, DEFAULT_BUCKET) == 0)
		return true;
	table_cache_refresh(bucket_cache);
	for (int i = 0; i < nbuckets; i++)
		if (strcmp(buckets[i], bucket) == 0)
			return true;
	return false;
}

bool
policy_any_pause(void)
{
	table_cache_refresh(pause_cache);
	return npauses > 0;
}

bool
policy_is_paused(const char *type, const char *bucket)
{
	table_cache_refresh(pause_cache);
	for (int i = 0; i < npauses; i++)
		if (pauses[i].is_type ? pattern_fit(pauses[i].name, type) > 0 :
			strcmp(pauses[i].name, bucket) == 0)
			return true;
	return false;
}
