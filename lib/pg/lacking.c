#include "base/port.h"

#include "mb/pg_wchar.h"

#include "pg/lacking.h"
#include "pg/statement.h"

/* After so many characters, all that are not ASCII are replaced. */
#define REPLACED_ALONE 8

/* The longest character of a text in UTF-8. */
#define CHARACTER_MAX 4

/* A character of a text, or each one that is not ASCII, becomes a question mark. */
static void
replace(char *text, const char *character, bool replaces_all)
{
	char	   *to = text;

	for (const char *from = text; *from != '\0';)
	{
		size_t		len = strnlen(from, pg_utf_mblen((const unsigned char *) from));

		if (len > 1 && (replaces_all || strncmp(from, character, len) == 0))
			*to++ = '?';
		else
		{
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	*to = '\0';
}

/*
 * The server names the character by its bytes, such as 0xe2 0x82 0xac, in any
 * language.
 */
static void
read_character(const char *error, char *character)
{
	for (int i = 0; i < CHARACTER_MAX && (error = strstr(error, "0x")) != NULL; i++)
	{
		character[i] = (char) strtol(error, NULL, 16);
		error += 2;
	}
}

bool
lacking_replace(char *text, const PGresult *refusal, int *ncalls)
{
	const char *error = PQresultErrorField(refusal, PG_DIAG_MESSAGE_PRIMARY);
	char		character[CHARACTER_MAX + 1] = "";

	if (text == NULL || error == NULL || *ncalls > REPLACED_ALONE ||
		strcmp(pg_sqlstate(refusal), "22P05") != 0)
		return false;
	read_character(error, character);
	if (!IS_HIGHBIT_SET(character[0]) || strstr(text, character) == NULL)
		return false;
	replace(text, character, ++*ncalls > REPLACED_ALONE);
	return true;
}
