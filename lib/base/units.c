#include "base/port.h"

#include "base/units.h"

const Unit	duration_units[] = {
	{"ms", INT64CONST(1000)},
	{"s", INT64CONST(1000000)},
	{"min", INT64CONST(60000000)},
	{"h", INT64CONST(3600000000)},
	{"d", INT64CONST(86400000000)},
	{NULL, 0}
};

const Unit	size_units[] = {
	{"B", 1},
	{"kB", 1024},
	{"MB", 1024 * 1024},
	{NULL, 0}
};

Parsed
units_parse_digits(const char **text, int64 *value)
{
	const char *s = *text;
	bool		is_large = false;

	if (*s < '0' || *s > '9' || (s[0] == '0' && s[1] >= '0' && s[1] <= '9'))
		return PARSED_INVALID;
	for (*value = 0; *s >= '0' && *s <= '9'; s++)
	{
		if (*value > (PG_INT64_MAX - 9) / 10)
			is_large = true;
		else
			*value = *value * 10 + (*s - '0');
	}
	*text = s;
	return is_large ? PARSED_TOO_LARGE : PARSED;
}

Parsed
units_parse(const char *text, const Unit *units, int64 *value)
{
	Parsed		parsed = units_parse_digits(&text, value);

	if (parsed == PARSED_INVALID)
		return PARSED_INVALID;
	while (units->name != NULL && strcmp(units->name, text) != 0)
		units++;
	if (units->name == NULL)
		return PARSED_INVALID;
	if (parsed == PARSED_TOO_LARGE || *value > PG_INT64_MAX / units->factor)
		return PARSED_TOO_LARGE;
	*value *= units->factor;
	return PARSED;
}

bool
units_parse_duration(const char *text, int64 *us)
{
	return units_parse(text, duration_units, us) == PARSED;
}
