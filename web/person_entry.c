#include "base/port.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>

#include "web/person_entry.h"

/* The most bytes of what the system says about a user or group. */
#define SYSTEM_MAX_BYTES (16 * 1024 * 1024)

#define USER \
	{ \
		"user", OPTION_TEXT, .is_required = true, .min = 1, .max = 200, .check = person_name_fault, \
		.offset = offsetof(PersonEntry, user), \
		.help = "a user" \
	}

#define GROUP \
	{ \
		"group", OPTION_TEXT, .is_required = true, .min = 1, .max = 200, \
		.offset = offsetof(PersonEntry, group), \
		.help = "a group" \
	}

#define ROLES \
	{ \
		"roles", OPTION_WORDS, .is_required = true, .min = 1, .max = 10, .check = person_role_fault, \
		.offset = offsetof(PersonEntry, roles), \
		.help = "viewer, operator, payload or payload=ROLE" \
	}

/* ---- the system's users and groups ---- */

bool
system_user_find(const char *name, uid_t *id)
{
	struct passwd user;
	struct passwd *found = NULL;

	for (size_t len = 4096; len <= SYSTEM_MAX_BYTES; len *= 2)
	{
		char	   *bytes = palloc(len);
		int			status = getpwnam_r(name, &user, bytes, len, &found);

		pfree(bytes);
		if (status == ERANGE)
			continue;
		*id = found != NULL ? user.pw_uid : 0;
		break;
	}
	return found != NULL;
}

static void
add_member(PersonEntry *entry, const char *name, uid_t id)
{
	size_t		size = (entry->nmembers + 1) * sizeof(SystemUser);

	entry->members = entry->members == NULL ? palloc(size) : repalloc(entry->members, size);
	entry->members[entry->nmembers++] = (SystemUser)
	{
		.id = id, .name = pstrdup(name)
	};
}

static void
add_listed_members(PersonEntry *entry, char *const *names)
{
	uid_t		id;

	for (; *names != NULL; names++)
		if (person_name_fault(*names) == NULL && system_user_find(*names, &id))
			add_member(entry, *names, id);
}

static bool
has_groups(PersonEntry *const *entries)
{
	for (; entries != NULL && *entries != NULL; entries++)
		if ((*entries)->group != NULL && (*entries)->is_known)
			return true;
	return false;
}

static void
add_to_groups(PersonEntry *const *entries, const struct passwd *user)
{
	for (; *entries != NULL; entries++)
		if ((*entries)->group != NULL && (*entries)->is_known && (*entries)->id == user->pw_gid)
			add_member(*entries, user->pw_name, user->pw_uid);
}

void
person_entries_complete(PersonEntry *const *entries)
{
	const struct passwd *user;

	if (!has_groups(entries))
		return;
	setpwent();
	while ((user = getpwent()) != NULL)
		if (person_name_fault(user->pw_name) == NULL)
			add_to_groups(entries, user);
	endpwent();
}

static void
find_group(PersonEntry *entry)
{
	struct group group;
	struct group *found = NULL;

	for (size_t len = 4096; len <= SYSTEM_MAX_BYTES && found == NULL; len *= 2)
	{
		char	   *bytes = palloc(len);
		int			status = getgrnam_r(entry->group, &group, bytes, len, &found);

		if (found != NULL)
		{
			entry->is_known = true;
			entry->id = group.gr_gid;
			add_listed_members(entry, group.gr_mem);
		}
		pfree(bytes);
		if (status != ERANGE)
			break;
	}
}

/* ---- entries ---- */

/* A user may leave the system, and the service still starts. */
static bool
settle_system(void *target, const Place *place)
{
	PersonEntry *entry = target;
	uid_t		id;

	if ((entry->user == NULL) == (entry->group == NULL))
		return options_fail(place, "", "an entry has a user or a group");
	if (entry->group != NULL)
		find_group(entry);
	else if (system_user_find(entry->user, &id))
	{
		entry->is_known = true;
		entry->id = id;
	}
	if (!entry->is_known)
		options_note(place, entry->user != NULL ? "user" : "group", "the system does not know it");
	return true;
}

static void
release(void *target)
{
	PersonEntry *entry = target;

	for (int i = 0; i < entry->nmembers; i++)
		pfree(entry->members[i].name);
	pfree(entry->members);
}

static const Option system_options[] = {
	{
		"user", OPTION_TEXT, .min = 1, .max = 200, .check = person_name_fault,
		.offset = offsetof(PersonEntry, user),
		.help = "a user of the system"
	},
	{
		"group", OPTION_TEXT, .min = 1, .max = 200,
		.offset = offsetof(PersonEntry, group),
		.help = "in place of user: a group of the system"
	},
	ROLES
};

static const Option user_options[] = {USER, ROLES};
static const Option group_options[] = {GROUP, ROLES};
static const Option client_options[] = {
	{
		"name", OPTION_TEXT, .is_required = true, .min = 1, .max = 200, .check = person_name_fault,
		.offset = offsetof(PersonEntry, user),
		.help = "the common name (CN) of a certificate"
	},
	ROLES
};

const Section system_entry_section = {
	system_options, lengthof(system_options), sizeof(PersonEntry), settle_system, release
};
const Section user_entry_section = {
	user_options, lengthof(user_options), sizeof(PersonEntry)
};
const Section group_entry_section = {
	group_options, lengthof(group_options), sizeof(PersonEntry)
};
const Section client_entry_section = {
	client_options, lengthof(client_options), sizeof(PersonEntry)
};

/* ---- requests ---- */

void
person_entries_user(PersonEntry *const *entries, const char *user, Person *person)
{
	for (; entries != NULL && *entries != NULL; entries++)
		if (strcmp((*entries)->user, user) == 0)
			person_add_roles(person, (*entries)->roles);
}

void
person_entries_group(PersonEntry *const *entries, const char *group, size_t len, Person *person)
{
	for (; entries != NULL && *entries != NULL; entries++)
		if (strlen((*entries)->group) == len && memcmp((*entries)->group, group, len) == 0)
			person_add_roles(person, (*entries)->roles);
}

static bool
has_group(const HttpPeer *peer, gid_t group)
{
	bool		has = peer->group == group;

	for (int i = 0; i < peer->ngroups; i++)
		has |= peer->groups[i] == group;
	return has;
}

static const char *
member_name(const PersonEntry *entry, uid_t id)
{
	for (int i = 0; i < entry->nmembers; i++)
		if (entry->members[i].id == id)
			return entry->members[i].name;
	return NULL;
}

const char *
person_entries_peer(PersonEntry *const *entries, const HttpPeer *peer, Person *person)
{
	const char *name = NULL;

	for (; entries != NULL && *entries != NULL; entries++)
	{
		const PersonEntry *entry = *entries;
		bool		is_his = entry->is_known &&
		(entry->user != NULL ? peer->user == entry->id : has_group(peer, entry->id));

		if (!is_his)
			continue;
		person_add_roles(person, entry->roles);
		if (name == NULL)
			name = entry->user != NULL ? entry->user : member_name(entry, peer->user);
	}
	return name;
}
