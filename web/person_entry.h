/*-------------------------------------------------------------------------
 *
 * person_entry.h
 *		Lists of users and groups with their roles, in the section "manage".
 *
 *		from: manage_config.h			to: person_roles.h
 *
 * Names of system users and groups become numbers when the configuration is read,
 * which may ask a directory service for seconds.  A request asks the kernel alone:
 * it knows the user and the groups at the other end of a Unix socket.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_ENTRY_H
#define TWT_PERSON_ENTRY_H

#include "options/option.h"
#include "web/peer.h"
#include "web/person_roles.h"

/* A member of a system group, so that audits can name that user. */
typedef struct SystemUser
{
	uid_t		id;
	char	   *name;
} SystemUser;

typedef struct PersonEntry
{
	char	   *user;			/* NULL: the entry is for a group */
	char	   *group;
	char	  **roles;
	bool		is_known;		/* to the system, by the number: */
	unsigned	id;
	SystemUser *members;		/* users whom the system lists */
	int			nmembers;
} PersonEntry;

/* Entries for a system user or group; for users, groups and clients by name. */
extern const Section system_entry_section;
extern const Section user_entry_section;
extern const Section group_entry_section;
extern const Section client_entry_section;

/*
 * Adds the users whose primary group an entry names, since the system does not list
 * them with the group.  Reads all users of the system, once for all entries.
 */
extern void person_entries_complete(PersonEntry *const *entries);

/* For an entry with this user or group, adds its roles. */
extern void person_entries_user(PersonEntry *const *entries, const char *user, Person *person);
extern void person_entries_group(PersonEntry *const *entries, const char *group, size_t len,
								 Person *person);

/*
 * Adds the roles of all entries for the user at the other end of a Unix socket.
 * Returns the user's name, or NULL if no entry has the name.
 */
extern const char *person_entries_peer(PersonEntry *const *entries, const HttpPeer *peer,
									   Person *person);

/* Looks the system user up; false: there is none. */
extern bool system_user_find(const char *name, uid_t *id) MUSTCHECK;

#endif							/* TWT_PERSON_ENTRY_H */
