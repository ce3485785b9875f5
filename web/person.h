/*-------------------------------------------------------------------------
 *
 * person.h
 *		The person behind a request of the management API, and that person's
 *		roles of the database.
 *
 *		from: the management API		to: manage_config.h, http.h
 *
 * A request is judged once, by its headers.  It is refused, or has one person, by
 * the first way to log in that fits:
 *
 *	 a bearer token		its SHA-256 is in token_file; no other way is tried then
 *	 a proxy			names the user in a header: person_proxy.h
 *	 a certificate		its common name is one of the clients
 *	 the Unix socket	its user or a group is in socket_users: person_entry.h
 *
 * A browser adds no token by itself, so a foreign web page cannot use one.  The other
 * ways are ambient: see person_origin.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_H
#define TWT_PERSON_H

#include "base/loop.h"
#include "web/http.h"
#include "web/manage_config.h"
#include "web/person_roles.h"

/* A refused request: 401 nobody is logged in, 403 not so, 400, 429. */
typedef struct PersonRefusal
{
	int			status;
	const char *word;			/* the type of the problem */
	const char *detail;
} PersonRefusal;

typedef struct Persons Persons;

/* The caller keeps the configuration until persons_set_config() or persons_close(). */
extern Persons *persons_open(Loop *loop, const ManageConfig *config);
extern void persons_set_config(Persons *persons, const ManageConfig *config);
extern void persons_close(Persons *persons);

/*
 * Returns the person, who has one role at least, until the next call; or NULL with
 * the *refusal.
 */
extern const Person *persons_judge(const Persons *persons, const HttpRequest *request,
								   const PersonRefusal **refusal) MUSTCHECK;

/*
 * Logs which GRANT is missing, since the database lets us not take on the role.
 * login: the role that logged in; NULL: not known.
 */
extern void persons_lack_role(const Persons *persons, const char *role, const char *login);

/* Whether that has happened lately, in words that anybody may read; NULL: no. */
extern const char *persons_trouble(const Persons *persons);

#endif							/* TWT_PERSON_H */
