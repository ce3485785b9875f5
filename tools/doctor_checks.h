/*-------------------------------------------------------------------------
 *
 * doctor_checks.h
 *		What the doctor looks at.
 *
 *		from: doctor_verb.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_DOCTOR_CHECKS_H
#define TWT_DOCTOR_CHECKS_H

typedef struct Check
{
	const char *name;			/* NULL ends the list */
	const char *fine;			/* a sentence for when there is no row */

	/*
	 * Returns finding (WARN or FAIL), sentence and command for each trouble;
	 * $1, if it has one, is the age from which on a transaction is old.
	 */
	const char *sql;
} Check;

extern const Check doctor_checks[];

/* Returns a row in a database with the SQL edition, for which alone the check is. */
extern const char doctor_is_sql[];
extern const Check doctor_edition_check;

#endif							/* TWT_DOCTOR_CHECKS_H */
