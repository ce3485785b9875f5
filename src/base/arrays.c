/*-------------------------------------------------------------------------
 *
 * arrays.c
 *		Array arguments with one element per task.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/arrays.h"
#include "base/call.h"

Elements
elements_of(FunctionCallInfo fcinfo, int number, const char *name)
{
	Elements	elements;
	ArrayType  *array;
	int16		len;
	bool		byval;
	char		align;

	require_argument(fcinfo, number, name);
	array = PG_GETARG_ARRAYTYPE_P(number);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align,
					  &elements.values, &elements.nulls, &elements.n);
	return elements;
}

void
check_length(const Elements *elements, int n)
{
	if (elements->n != n && elements->n != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrays must have one length"),
				 errhint("Give one element for each of ids, or one for all.")));
}

Elements
places_of(FunctionCallInfo fcinfo, int number, int n)
{
	Elements	places = {0};

	if (PG_ARGISNULL(number))
		return places;
	places = elements_of(fcinfo, number, "places");
	if (places.n != 0 && places.n != n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("places must have one element for each of ids, or none")));
	return places;
}

static Datum
elements_array(const Elements *elements, Oid type)
{
	int			n = elements->n;
	int			lower = 1;
	int16		len;
	bool		byval;
	char		align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	return PointerGetDatum(construct_md_array(elements->values, elements->nulls, 1, &n, &lower,
											  type, len, byval, align));
}

Datum
chosen_array(const Elements *elements, const int *which, int n, Oid type)
{
	Elements	chosen = {palloc(n * sizeof(Datum)), palloc(n * sizeof(bool)), n};

	for (int i = 0; i < n; i++)
	{
		chosen.nulls[i] = elements->n == 0 || element_null(elements, which[i]);
		chosen.values[i] = chosen.nulls[i] ? (Datum) 0 : element(elements, which[i]);
	}
	return elements_array(&chosen, type);
}

bool
element_is(const Elements *elements, int i, const char *word)
{
	text	   *value;
	Size		length = strlen(word);

	if (element_null(elements, i))
		return false;
	value = DatumGetTextPP(element(elements, i));
	return VARSIZE_ANY_EXHDR(value) == length &&
		memcmp(VARDATA_ANY(value), word, length) == 0;
}
