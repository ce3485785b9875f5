#include "base/port.h"

#include <microhttpd.h>

#include "web/person.h"

struct Persons
{
	Loop	   *loop;
	const ManageConfig *config;
	Person	   *person;			/* the last one */
};

static const PersonRefusal nobody = {
	MHD_HTTP_UNAUTHORIZED, "unauthorized", "The header Authorization must be \"Bearer\" and a token."
};

/* ---- ways to log in ---- */

static void
fill_person(const Persons *persons, const char *name, char *const *roles)
{
	memset(persons->person, 0, sizeof(Person));
	persons->person->name = name;
	for (; *roles != NULL; roles++)
		person_add_role(persons->person, *roles);
}

static const PersonRefusal *
judge_token(const Persons *persons, const char *token)
{
	const PersonTokens *tokens = persons->config->tokens;
	const PersonToken *found = tokens == NULL ? NULL : person_tokens_find(tokens, token);

	if (found == NULL)
		return &nobody;
	fill_person(persons, found->name, found->roles);
	return NULL;
}

static const PersonRefusal *
judge(const Persons *persons, const HttpRequest *request)
{
	const char *authorization = http_header(request, "Authorization");

	if (authorization != NULL && pg_strncasecmp(authorization, "Bearer ", 7) == 0)
		return judge_token(persons, authorization + 7);
	return &nobody;
}

const Person *
persons_judge(const Persons *persons, const HttpRequest *request, const PersonRefusal **refusal)
{
	*refusal = judge(persons, request);
	return *refusal == NULL ? persons->person : NULL;
}

/* ---- the whole ---- */

Persons *
persons_open(Loop *loop, const ManageConfig *config)
{
	Persons    *persons = palloc0(sizeof(Persons));

	persons->loop = loop;
	persons->config = config;
	persons->person = palloc0(sizeof(Person));
	return persons;
}

void
persons_set_config(Persons *persons, const ManageConfig *config)
{
	persons->config = config;
}

void
persons_close(Persons *persons)
{
	pfree(persons->person);
	pfree(persons);
}
