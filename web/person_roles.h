/*-------------------------------------------------------------------------
 *
 * person_roles.h
 *		A person, and words of the configuration for its roles.
 *
 *	 word				role of the database
 *	 viewer				twtasks_viewer
 *	 operator			twtasks_operator, and twtasks_viewer
 *	 payload			twtasks_payload_viewer
 *	 payload=ROLE		ROLE, which allow_payload() knows
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_ROLES_H
#define TWT_PERSON_ROLES_H

/* The right that a route asks for. */
typedef enum ApiRole
{
	API_OPEN,					/* no login */
	API_ANY,					/* any person */
	API_VIEWER,
	API_OPERATOR,
	API_PAYLOAD
} ApiRole;

#define API_ROLES (API_PAYLOAD + 1)

typedef struct Person
{
	const char *name;
	const char *role[API_ROLES];	/* roles of the database; NULL: may not
									 * ask */
	bool		is_ambient;		/* a browser logs in by itself */
} Person;

/* Returns the fault of a word; NULL: none. */
extern const char *person_role_fault(const char *word);

/* Adds the roles of words without fault, NULL-terminated; keeps the words. */
extern void person_add_roles(Person *person, char *const *words);

/* Returns the fault of a person's name, which audits keep; NULL: none. */
extern const char *person_name_fault(const char *name);

#endif							/* TWT_PERSON_ROLES_H */
