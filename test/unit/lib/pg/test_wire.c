/*-------------------------------------------------------------------------
 *
 * test_wire.c
 *		Whatever bytes an array has, its elements lie within them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bswap.h"

#include "check.h"
#include "pg/wire.h"

#define ROUNDS 20000
#define WORDS_MAX 16

static const uint32 extremes[] = {
	0, 1, 4, 16, 0xffff, 0x7ffffff0, 0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffe, 0xffffffff
};

static uint32
any_word(Chance *chance)
{
	if (chance_below(chance, 4) == 0)
		return (uint32) chance_below(chance, 1 << 30);
	return extremes[chance_below(chance, lengthof(extremes))];
}

/* The only value of an answer: an array of one dimension, and then anything. */
static PGresult *
make_answer(Chance *chance)
{
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc column = {.name = "c"};
	uint32		words[WORDS_MAX];
	int			len = (int) chance_below(chance, sizeof(words) + 1);

	for (int i = 0; i < WORDS_MAX; i++)
		words[i] = pg_hton32(i == 0 ? 1 : any_word(chance));
	assert_true(PQsetResultAttrs(result, 1, &column));
	assert_true(PQsetvalue(result, 0, 0, (char *) words, len));
	return result;
}

static void
test_elements_are_within(void **state)
{
	Chance		chance;

	chance_init(&chance, test_seed());
	for (int round = 0; round < ROUNDS; round++)
	{
		PGresult   *result = make_answer(&chance);
		const char *end = PQgetvalue(result, 0, 0) + PQgetlength(result, 0, 0);
		WireArray	array;
		const char *value;
		int			len;
		int			n = 0;

		wire_array_begin(&array, result, 0, 0);
		while (wire_array_next(&array, &value, &len))
		{
			assert_true(value <= end && len <= end - value);
			assert_true(++n <= WORDS_MAX);
		}
		PQclear(result);
	}
}

static void
test_no_array(void **state)
{
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	WireArray	array;
	const char *value;
	int			len;

	wire_array_begin(&array, result, 0, 0);
	assert_false(wire_array_next(&array, &value, &len));
	PQclear(result);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements_are_within),
		cmocka_unit_test(test_no_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
