#include "base/port.h"

#include "base/text.h"
#include "web/person_roles.h"

#define OWN_PAYLOAD "payload="
#define ROLE_MAX_BYTES 63

/* The database takes no longer name in twtasks.on_behalf_of. */
#define NAME_MAX_BYTES 200

const char *
person_role_fault(const char *word)
{
	const char *role = word + strlen(OWN_PAYLOAD);

	if (strcmp(word, "viewer") == 0 || strcmp(word, "operator") == 0 || strcmp(word, "payload") == 0)
		return NULL;
	if (strncmp(word, OWN_PAYLOAD, strlen(OWN_PAYLOAD)) != 0)
		return "a role is viewer, operator, payload or payload=ROLE";
	if (role[0] == '\0' || strlen(role) > ROLE_MAX_BYTES)
		return "the name of a role has 1 to 63 bytes";
	return strcmp(role, "none") == 0 ? "a role cannot be named \"none\"" : NULL;
}

const char *
person_name_fault(const char *name)
{
	size_t		len = strlen(name);

	if (len == 0 || len > NAME_MAX_BYTES)
		return "a name has 1 to 200 bytes";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char) name[i] < ' ' || name[i] == 0x7f)
			return "a name has no control characters";
	return text_is_utf8(name, len) ? NULL : "a name is text in UTF-8";
}

/* The first of several roles for payloads counts. */
static void
add_payload(Person *person, const char *role)
{
	if (person->role[API_PAYLOAD] == NULL)
		person->role[API_PAYLOAD] = role;
}

static void
add_role(Person *person, const char *word)
{
	if (strcmp(word, "payload") == 0)
		add_payload(person, "twtasks_payload_viewer");
	else if (strncmp(word, OWN_PAYLOAD, strlen(OWN_PAYLOAD)) == 0)
		add_payload(person, word + strlen(OWN_PAYLOAD));
	else
		person->role[API_VIEWER] = "twtasks_viewer";
	if (strcmp(word, "operator") == 0)
		person->role[API_OPERATOR] = "twtasks_operator";
	person->role[API_ANY] = person->role[API_VIEWER] != NULL ? person->role[API_VIEWER] :
		person->role[API_PAYLOAD];
}

void
person_add_roles(Person *person, char *const *words)
{
	for (; *words != NULL; words++)
		add_role(person, *words);
}
