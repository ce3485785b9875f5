/*-------------------------------------------------------------------------
 *
 * test_trigger.c
 *		The wire format of a trigger: what is written, what is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "common/trigger.h"

#define ID "0190a5b6-c7d8-79ea-8bfc-0d1e2f304152"

/* Decodes a copy without a NUL, so that reading too far is seen. */
static bool
decode(const char *text, size_t len, Trigger *trigger)
{
	char	   *copy = palloc(Max(len, 1));
	bool		ok;

	memcpy(copy, text, len);
	ok = trigger_decode(copy, len, trigger);
	pfree(copy);
	return ok;
}

static bool
decode_text(const char *text)
{
	Trigger		trigger;

	return decode(text, strlen(text), &trigger);
}

static void
set_type(Trigger *trigger, const char *type)
{
	trigger->type_len = strlen(type);
	memcpy(trigger->type, type, trigger->type_len + 1);
}

static void
assert_round_trip(const Trigger *trigger)
{
	char		text[TRIGGER_TEXT_MAX];
	size_t		len = trigger_encode(trigger, text);
	Trigger		back;

	assert_true(len < TRIGGER_TEXT_MAX);
	assert_int_equal(strlen(text), len);
	assert_true(decode(text, len, &back));
	assert_memory_equal(back.id, trigger->id, TRIGGER_ID_BYTES);
	assert_true(back.version == trigger->version);
	assert_true(back.due_us == trigger->due_us);
	assert_int_equal(back.size, trigger->size);
	assert_int_equal(back.priority, trigger->priority);
	assert_int_equal(back.type_len, trigger->type_len);
	assert_string_equal(back.type, trigger->type);
}

static void
test_text_form(void **state)
{
	Trigger		trigger = {.version = 3, .due_us = 1234567};
	char		text[TRIGGER_TEXT_MAX];

	(void) state;
	trigger.size = 42;
	trigger.priority = 7;
	assert_true(trigger_id_parse(ID, trigger.id));
	set_type(&trigger, "EMAIL|WELCOME");
	assert_int_equal(trigger_encode(&trigger, text),
					 strlen(ID " 3 7 42 1234567 EMAIL|WELCOME"));
	assert_string_equal(text, ID " 3 7 42 1234567 EMAIL|WELCOME");
	assert_round_trip(&trigger);
}

static void
test_extremes(void **state)
{
	Trigger		trigger;

	(void) state;
	memset(&trigger, 0, sizeof(trigger));
	set_type(&trigger, "x");
	assert_round_trip(&trigger);

	memset(trigger.id, 0xff, TRIGGER_ID_BYTES);
	trigger.version = trigger.due_us = PG_INT64_MAX;
	trigger.size = PG_INT32_MAX;
	trigger.priority = 9;
	memset(trigger.type, 'Z', TRIGGER_TYPE_MAX);
	trigger.type[TRIGGER_TYPE_MAX] = '\0';
	trigger.type_len = TRIGGER_TYPE_MAX;
	assert_round_trip(&trigger);
	{
		char		text[TRIGGER_TEXT_MAX];

		assert_int_equal(trigger_encode(&trigger, text) + 1, TRIGGER_TEXT_MAX);
	}
}

/* At most bits of them, and often fewer. */
static int64
random_number(Chance *chance, int bits)
{
	return chance_next(chance) >> (64 - bits + chance_below(chance, bits));
}

static void
test_random_round_trips(void **state)
{
	static const char letters[] = "AZaz09_.:|/-";
	Chance		chance;
	int			i;

	(void) state;
	chance_init(&chance, test_seed());
	for (i = 0; i < 2000; i++)
	{
		Trigger		trigger;
		int			j;

		for (j = 0; j < TRIGGER_ID_BYTES; j++)
			trigger.id[j] = chance_below(&chance, 256);
		trigger.version = random_number(&chance, 63);
		trigger.due_us = random_number(&chance, 63);
		trigger.size = random_number(&chance, 31);
		trigger.priority = chance_below(&chance, 10);
		trigger.type_len = 1 + chance_below(&chance, TRIGGER_TYPE_MAX);
		for (j = 0; j < trigger.type_len; j++)
			trigger.type[j] = letters[chance_below(&chance, strlen(letters))];
		trigger.type[trigger.type_len] = '\0';
		assert_round_trip(&trigger);
	}
}

static void
test_malformed(void **state)
{
	static const char *const refused[] = {
		"", " ", ID, ID " ", ID " 1", ID " 1 ", ID " 1 5", ID " 1 5 0",
		ID " 1 5 0 0", ID " 1 5 0 0 ", ID "  1 5 0 0 T", ID " 1  5 0 0 T",
		ID " 1 5  0 0 T", ID " 1 5 0  0 T", ID " 1 5 0 0  T",
		" " ID " 1 5 0 0 T",
		ID " 1 5 0 0 T ", ID " 1 5 0 0 T\n", ID " 1 5 0 0 T U",
		ID "\t1 5 0 0 T", ID " 1\t5 0 0 T", ID "1 5 0 0 T",
		/* numbers */
		ID " 01 5 0 0 T", ID " 00 5 0 0 T", ID " +1 5 0 0 T", ID " -1 5 0 0 T",
		ID " 1.0 5 0 0 T", ID " 1e3 5 0 0 T", ID " 0x1 5 0 0 T",
		ID " a 5 0 0 T",
		ID " 9223372036854775808 5 0 0 T", ID " 99999999999999999999 5 0 0 T",
		ID " 18446744073709551617 5 0 0 T", ID " 1 10 0 0 T", ID " 1 05 0 0 T",
		ID " 1 -5 0 0 T", ID " 1 5 2147483648 0 T", ID " 1 5 4294967296 0 T",
		ID " 1 5 00 0 T", ID " 1 5 -1 0 T", ID " 1 5 0 9223372036854775808 T",
		ID " 1 5 0 00 T", ID " 1 5 0 -1 T", ID " 1 5 0 +0 T",
		/* types */
		ID " 1 5 0 0 T*", ID " 1 5 0 0 a b", ID " 1 5 0 0 \xc3\xa4",
		ID " 1 5 0 0 \"T\"", ID " 1 5 0 0 T\\", ID " 1 5 0 0 T\x7f",
		/* ids: the canonical form is lower case with four hyphens */
		"0190A5B6-c7d8-79ea-8bfc-0d1e2f304152 1 5 0 0 T",
		"0190a5b6c7d879ea8bfc0d1e2f304152 1 5 0 0 T",
		"{0190a5b6-c7d8-79ea-8bfc-0d1e2f304152} 1 5 0 0 T",
		"0190a5b6-c7d8-79ea-8bfc-0d1e2f30415 1 5 0 0 T",
		"0190a5b6-c7d8-79ea-8bfc-0d1e2f3041522 1 5 0 0 T",
		"0190a5b6-c7d8-79ea-8bfc-0d1e2f30415g 1 5 0 0 T",
		"0190a5b6-c7d8-79ea-8bfc_0d1e2f304152 1 5 0 0 T",
		"0190a5b-6c7d8-79ea-8bfc-0d1e2f304152 1 5 0 0 T",
	};
	size_t		i;

	(void) state;
	assert_true(decode_text(ID " 1 5 0 0 T"));
	assert_true(decode_text(ID " 0 0 2147483647 9223372036854775807 T"));
	for (i = 0; i < lengthof(refused); i++)
	{
		if (decode_text(refused[i]))
			fail_msg("accepted: \"%s\"", refused[i]);
	}
}

/* Every shorter text, and a NUL in every place. */
static void
test_cut_and_nul(void **state)
{
	const char	text[] = ID " 12 5 34 56 T";
	size_t		len = sizeof(text) - 1;
	Trigger		trigger;
	size_t		i;

	(void) state;
	for (i = 0; i < len; i++)
	{
		char		copy[sizeof(text)];

		assert_false(decode(text, i, &trigger));
		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		assert_false(decode(copy, len, &trigger));
	}
	assert_true(decode(text, len, &trigger));
	assert_false(decode(text, len + 1, &trigger));
}

static void
test_type_too_long(void **state)
{
	char		text[TRIGGER_TEXT_MAX + 1];
	size_t		prefix = strlen(ID " 1 5 0 0 ");
	Trigger		trigger;

	(void) state;
	memset(text, 'T', sizeof(text));
	memcpy(text, ID " 1 5 0 0 ", prefix);
	assert_true(decode(text, prefix + TRIGGER_TYPE_MAX, &trigger));
	assert_int_equal(trigger.type_len, TRIGGER_TYPE_MAX);
	assert_false(decode(text, prefix + TRIGGER_TYPE_MAX + 1, &trigger));
}

/* An accepted text is exactly the text that we would write. */
static void
assert_refused_or_canonical(const char *text, size_t len)
{
	Trigger		trigger;
	char		again[TRIGGER_TEXT_MAX];

	if (!decode(text, len, &trigger))
		return;
	assert_int_equal(trigger_encode(&trigger, again), len);
	assert_memory_equal(again, text, len);
}

static void
test_random_bytes(void **state)
{
	static const char common[] = "0123456789abcdef -\0+TZ|";
	const char	valid[] = ID " 123 5 34 56 TYPE";
	Chance		chance;
	int			i;

	(void) state;
	chance_init(&chance, test_seed());
	for (i = 0; i < 50000; i++)
	{
		char		text[2 * TRIGGER_TEXT_MAX];
		size_t		len = chance_below(&chance, sizeof(text));
		size_t		j;

		for (j = 0; j < len; j++)
			text[j] = chance_below(&chance, 256);
		assert_refused_or_canonical(text, len);

		/* and valid text with a few bytes changed, its end cut or moved */
		memcpy(text, valid, sizeof(valid));
		for (j = chance_below(&chance, 4); j > 0; j--)
			text[chance_below(&chance, sizeof(valid))] =
				common[chance_below(&chance, sizeof(common))];
		len = sizeof(valid) - 1 - chance_below(&chance, 6);
		assert_refused_or_canonical(text, len);
	}
}

static void
test_ids(void **state)
{
	uint8		id[TRIGGER_ID_BYTES];
	char		text[37];

	(void) state;
	assert_true(trigger_id_parse("0190A5B6-C7D8-79EA-8BFC-0D1E2F304152", id));
	trigger_id_text(id, text);
	assert_string_equal(text, ID);
	assert_int_equal(id[0], 0x01);
	assert_int_equal(id[15], 0x52);
	assert_false(trigger_id_parse("0190a5b6-c7d8-79ea-8bfc-0d1e2f30415", id));
	assert_false(trigger_id_parse("0190a5b6 c7d8-79ea-8bfc-0d1e2f304152", id));
	assert_false(trigger_id_parse("", id));
}

/* All that uuid_in() takes, and nothing else. */
static void
test_read_id(void **state)
{
	static const char *const good[] = {
		"0190a5b6-c7d8-79ea-8bfc-0d1e2f304152", "0190A5B6-C7D8-79EA-8BFC-0D1E2F304152",
		"0190a5b6c7d879ea8bfc0d1e2f304152", "{0190a5b6c7d8-79ea8bfc-0d1e2f304152}",
		"0190-a5b6-c7d8-79ea-8bfc-0d1e-2f30-4152",
	};
	static const char *const bad[] = {
		"", "{", "{}", "0190a5b6c7d879ea8bfc0d1e2f30415", "0190a5b6c7d879ea8bfc0d1e2f3041520",
		"{0190a5b6c7d879ea8bfc0d1e2f304152", "0190a5b6c7d879ea8bfc0d1e2f304152}",
		"-0190a5b6c7d879ea8bfc0d1e2f304152", "0190a5b6c7d879ea8bfc0d1e2f304152-",
		"01-90a5b6c7d879ea8bfc0d1e2f304152", "0190--a5b6c7d879ea8bfc0d1e2f304152",
		" 0190a5b6c7d879ea8bfc0d1e2f304152", "0190a5b6c7d879ea8bfc0d1e2f30415g",
	};
	char		text[TRIGGER_TEXT_MAX];
	uint8		id[TRIGGER_ID_BYTES];

	for (size_t i = 0; i < lengthof(good); i++)
	{
		assert_true(trigger_id_read(good[i], strlen(good[i]), id));
		trigger_id_text(id, text);
		assert_string_equal(text, good[0]);
	}
	for (size_t i = 0; i < lengthof(bad); i++)
		assert_false(trigger_id_read(bad[i], strlen(bad[i]), id));
}

static void
test_names(void **state)
{
	char		name[TRIGGER_TYPE_MAX + 1];

	(void) state;
	memset(name, 'n', sizeof(name));
	assert_true(trigger_type_valid("a.B:c|D/e-f_9", 13));
	assert_true(trigger_type_valid(name, TRIGGER_TYPE_MAX));
	assert_false(trigger_type_valid(name, TRIGGER_TYPE_MAX + 1));
	assert_false(trigger_type_valid("", 0));
	assert_false(trigger_type_valid("a b", 3));
	assert_false(trigger_type_valid("a\0b", 3));
	assert_false(trigger_type_valid("a*", 2));

	assert_true(trigger_bucket_valid("a-B_9", 5));
	assert_true(trigger_bucket_valid(name, TRIGGER_BUCKET_MAX));
	assert_false(trigger_bucket_valid(name, TRIGGER_BUCKET_MAX + 1));
	assert_false(trigger_bucket_valid("", 0));
	assert_false(trigger_bucket_valid("a.b", 3));
	assert_false(trigger_bucket_valid("a|b", 3));
	assert_false(trigger_bucket_valid("a\0b", 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_form),
		cmocka_unit_test(test_read_id),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_random_round_trips),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_cut_and_nul),
		cmocka_unit_test(test_type_too_long),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
