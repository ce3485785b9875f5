/*-------------------------------------------------------------------------
 *
 * json_digits.c
 *		The bytes that JSON takes as text beyond its stored size.
 *
 * Every add pays for this.  So we walk through containers where they lie, and
 * read only the head of a number.  PostgreSQL keeps both formats for good,
 * since its upgrades leave data as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "miscadmin.h"
#include "utils/jsonb.h"

#include "add/json_digits.h"

/* Decimal digits in one digit of a numeric */
#define DIGITS_EACH 4

/*
 * The head of a numeric; no header of PostgreSQL has it.  Its two highest
 * bits: 10 means short, 11 special, anything else long.
 */
#define HEAD_KIND 0xC000
#define HEAD_SHORT 0x8000
#define HEAD_SPECIAL 0xC000
#define SHORT_SCALE(head) (((head) & 0x1F80) >> 7)
#define SHORT_WEIGHT(head) (((head) & 0x0040 ? ~0x003F : 0) | ((head) & 0x003F))
#define LONG_SCALE(head) ((head) & 0x3FFF)

static Size
text_length(const char *numeric)
{
	uint16		head;
	int			scale;
	int16		weight;

	memcpy(&head, VARDATA(numeric), sizeof(head));
	if ((head & HEAD_KIND) == HEAD_SPECIAL)
		return 0;
	if ((head & HEAD_KIND) == HEAD_SHORT)
	{
		scale = SHORT_SCALE(head);
		weight = SHORT_WEIGHT(head);
	}
	else
	{
		scale = LONG_SCALE(head);
		memcpy(&weight, VARDATA(numeric) + sizeof(head), sizeof(weight));
	}
	return 1 + Max(weight + 1, 1) * DIGITS_EACH + (scale > 0 ? 1 + scale : 0);
}

static Size
excess(const char *numeric)
{
	Size		length = text_length(numeric);

	return length > VARSIZE(numeric) ? length - VARSIZE(numeric) : 0;
}

static Size
walk(const JsonbContainer *container)
{
	int			n = JsonContainerSize(container);
	const char *base;
	uint32		offset = 0;
	Size		sum = 0;

	check_stack_depth();
	if (JsonContainerIsObject(container))
		n *= 2;
	base = (const char *) &container->children[n];
	for (int i = 0; i < n; i++)
	{
		JEntry		entry = container->children[i];
		const char *value = base + INTALIGN(offset);

		if (JBE_ISNUMERIC(entry))
			sum += excess(value);
		else if (JBE_ISCONTAINER(entry))
			sum += walk((const JsonbContainer *) value);
		JBE_ADVANCE_OFFSET(offset, entry);
	}
	return sum;
}

Size
json_digits(Datum json)
{
	return walk(&DatumGetJsonbP(json)->root);
}
