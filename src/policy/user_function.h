/*-------------------------------------------------------------------------
 *
 * user_function.h
 *		Functions that users name: found by their types, checked and called.
 *
 *		from: policy_call.c, sql/policy/user_function.sql
 *		to: (functions of users)
 *
 * A function that a user names runs with the rights of its owner, like one that
 * is SECURITY DEFINER, and must fix its search_path.  So neither the user who
 * names it nor the function gains rights.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_USER_FUNCTION_H
#define TWT_USER_FUNCTION_H

typedef struct Signature
{
	const char *purpose;		/* for messages */
	int			nargs;
	const Oid  *args;
	Oid			result;
} Signature;

/*
 * Raises 42883 unless such a function exists, 42501 unless the caller may
 * execute it, and 22023 unless it fixes its search_path.
 */
extern void user_function_check(const Signature *signature, const char *name);

/*
 * Calls the function as its owner.  Calls it as the role if that is valid, and
 * then refuses one that is SECURITY DEFINER with 22023.  A strict function with
 * a NULL is not called and returns NULL.  Raises the function's errors, 38000 in
 * place of a cancel that the function itself has raised, and 42883 when there is
 * no such function.
 */
extern Datum user_function_call(const Signature *signature, const char *name, Oid role,
								const NullableDatum *args, bool *isnull);

#endif							/* TWT_USER_FUNCTION_H */
