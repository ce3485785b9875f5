/*-------------------------------------------------------------------------
 *
 * unfit.c
 *		unfit_types(): types in the queue that no pattern fits.
 *
 * Thousands of types may have tasks, and patterns fit nearly all of them.  The
 * scan goes from type to type, with one descent of the index each.  Types that
 * begin as a pattern says are passed over by one descent together.
 *
 * Sorted by bytes, as the index is, the types that have one beginning follow each
 * other.  A beginning that has another one of the patterns as its own beginning is
 * left out.  So the beginnings have no type in common, and only the last one that
 * is not greater than a type can be the type's.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "base/rows.h"
#include "table/queued.h"

/* We read no column of the task beyond this one. */
#define LAST_READ TASK_SUB_TYPE

typedef struct Names
{
	text	  **names;
	int			n;
} Names;

static int
compare(const struct varlena *a, const struct varlena *b)
{
	int			diff = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(VARSIZE_ANY_EXHDR(a), VARSIZE_ANY_EXHDR(b)));

	return diff != 0 ? diff : (int) VARSIZE_ANY_EXHDR(a) - (int) VARSIZE_ANY_EXHDR(b);
}

static int
compare_places(const void *a, const void *b)
{
	return compare(*(text * const *) a, *(text * const *) b);
}

static bool
begins_with(const struct varlena *name, const struct varlena *beginning)
{
	return VARSIZE_ANY_EXHDR(name) >= VARSIZE_ANY_EXHDR(beginning) &&
		memcmp(VARDATA_ANY(name), VARDATA_ANY(beginning), VARSIZE_ANY_EXHDR(beginning)) == 0;
}

/* The last of the sorted names that is not greater; NULL: there is none. */
static text *
last_up_to(const Names *sorted, const struct varlena *name)
{
	int			low = 0;
	int			past = sorted->n;

	while (low < past)
	{
		int			middle = (low + past) / 2;

		if (compare(sorted->names[middle], name) <= 0)
			low = middle + 1;
		else
			past = middle;
	}
	return low > 0 ? sorted->names[low - 1] : NULL;
}

/* Sorts the patterns into types and beginnings, without those that add nothing. */
static void
sort_patterns(const Elements *patterns, Names *types, Names *beginnings)
{
	int			kept = 0;

	types->names = palloc(sizeof(text *) * (patterns->n + 1));
	beginnings->names = palloc(sizeof(text *) * (patterns->n + 1));
	for (int i = 0; i < patterns->n; i++)
	{
		text	   *pattern = patterns->nulls[i] ? NULL : DatumGetTextPP(patterns->values[i]);
		int			length = pattern ? VARSIZE_ANY_EXHDR(pattern) : 0;

		if (length == 0)
			continue;
		if (VARDATA_ANY(pattern)[length - 1] == '*')
			beginnings->names[beginnings->n++] = cstring_to_text_with_len(VARDATA_ANY(pattern), length - 1);
		else
			types->names[types->n++] = pattern;
	}
	qsort(types->names, types->n, sizeof(text *), compare_places);
	qsort(beginnings->names, beginnings->n, sizeof(text *), compare_places);
	for (int i = 0; i < beginnings->n; i++)
		if (kept == 0 || !begins_with(beginnings->names[i], beginnings->names[kept - 1]))
			beginnings->names[kept++] = beginnings->names[i];
	beginnings->n = kept;
}

/*
 * The least bytes that are greater than all names with that beginning; NULL: there
 * are none.  They need not be characters.
 */
static text *
past_beginning(const struct varlena *beginning)
{
	int			length = VARSIZE_ANY_EXHDR(beginning);
	text	   *past;

	while (length > 0 && (unsigned char) VARDATA_ANY(beginning)[length - 1] == 0xff)
		length--;
	if (length == 0)
		return NULL;
	past = cstring_to_text_with_len(VARDATA_ANY(beginning), length);
	VARDATA(past)[length - 1]++;
	return past;
}

/* The first type of the bucket from there on; NULL: there is none. */
static text *
next_type(const Queued *queued, Datum bucket, const struct varlena *from, QueuedFrom how)
{
	Datum		values[] = {bucket, PointerGetDatum(from)};
	IndexScanDesc scan = queued_scan(queued, values, QUEUED_TYPE, how);
	text	   *type = NULL;

	if (index_getnext_slot(scan, ForwardScanDirection, queued->row))
	{
		slot_getsomeattrs(queued->row, LAST_READ);
		type = DatumGetTextPCopy(row_value(queued->row, TASK_TYPE));
	}
	index_endscan(scan);
	return type;
}

static void
put_type(ReturnSetInfo *results, text * type)
{
	Datum		values[] = {PointerGetDatum(type)};
	bool		nulls[] = {false};

	tuplestore_putvalues(results->setResult, results->setDesc, values, nulls);
}

TWT_FUNCTION(twt_unfit_types);
Datum
twt_unfit_types(PG_FUNCTION_ARGS)
{
	Elements	patterns = elements_of(fcinfo, 1, "patterns");
	int32		most = PG_GETARG_INT32(2);
	ReturnSetInfo *results = (ReturnSetInfo *) fcinfo->resultinfo;
	Names		types = {0};
	Names		beginnings = {0};
	Queued		queued = {0};
	text	   *from = cstring_to_text("");
	QueuedFrom	how = QUEUED_FROM;
	text	   *type;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	sort_patterns(&patterns, &types, &beginnings);
	queued_open(&queued);
	while (from != NULL && most > 0 && (type = next_type(&queued, PG_GETARG_DATUM(0), from, how)) != NULL)
	{
		text	   *beginning = last_up_to(&beginnings, type);
		text	   *same = last_up_to(&types, type);

		CHECK_FOR_INTERRUPTS();
		from = type;
		how = QUEUED_BEYOND;
		if (beginning != NULL && begins_with(type, beginning))
		{
			from = past_beginning(beginning);
			how = QUEUED_FROM;
		}
		else if (same == NULL || compare(same, type) != 0)
		{
			put_type(results, type);
			most--;
		}
	}
	queued_close(&queued);
	return (Datum) 0;
}
