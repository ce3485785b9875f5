/*-------------------------------------------------------------------------
 *
 * contract.h
 *		Functions that SQL may call, and the declarations that they know.
 *
 * The library, the SQL of the extension, and sidecars are replaced one by one,
 * in any order.  A function that trusted the declaration by which it is called
 * would read arguments that are not there, and end the server.  So each compares
 * its declaration first: arguments, result, columns, STRICT.
 *
 *		invariant	a symbol has one declaration, for ever.  A function that knows
 *					several, of several versions, asks for PG_NARGS()
 *		table		contracts.inc, made by the build of the install scripts: those
 *					that were released, and today's
 *		symbols		twt_NAME in the SQL of 1.0, twt_NAME_needs_VERSION since, by
 *					the build.  An older library that is still in memory lacks
 *					these symbols, so it cannot run newer SQL
 *		cost		one comparison a call.  The declaration is compared at the
 *					first call of a session, and again after any function of the
 *					database was changed
 *
 * A server that preloads the library has one layout of its shared memory: it
 * gives its library to each process, and no process can load another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONTRACT_H
#define TWT_CONTRACT_H

#include "fmgr.h"

typedef struct Contract
{
	const char *symbol;
	Oid			function;		/* the last one found right, or none */
	struct Contract *next;
} Contract;

extern void contract_init(void);

/*
 * Raises 0A000, with both versions and what to do, unless the library knows the
 * declaration by which it is called.
 */
extern void contract_check(Contract *contract, FunctionCallInfo fcinfo);

/*
 * Raises 0A000 unless the library knows all functions in C of the extension.
 * For functions that start work, which others must end.
 */
extern void contract_check_all(void);

/* Whether SQL names the function by this symbol: "twt_NAME" is the SQL of 1.0. */
extern bool contract_is_symbol(FunctionCallInfo fcinfo, const char *symbol);

/*
 * Stands before a function that SQL may call, in place of PG_FUNCTION_INFO_V1.
 * Behind the declaration of one that another module calls stands TWT_CHECKED(name),
 * since its own name means the entry from SQL.
 */
#define TWT_CHECKED(name) __asm__("checked_" #name)
#define TWT_FUNCTION(name) \
	extern Datum name(PG_FUNCTION_ARGS) TWT_CHECKED(name); \
	TWT_ENTRY(name, name##_of_1_0, name, #name); \
	TWT_ENTRY(name, name##_now, name##_needs_1_1, #name "_needs_1_1")

/* SQL finds the entry by its symbol, and the function only through the entry. */
#define TWT_ENTRY(name, entry, symbol, text) \
	extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_, symbol) (void); \
	const Pg_finfo_record * \
	CppConcat(pg_finfo_, symbol) (void) \
	{ \
		static const Pg_finfo_record info = {1}; \
		return &info; \
	} \
	extern PGDLLEXPORT Datum entry(PG_FUNCTION_ARGS) __asm__(text); \
	Datum \
	entry(PG_FUNCTION_ARGS) \
	{ \
		static Contract contract = {text, InvalidOid, NULL}; \
		if (unlikely(contract.function != fcinfo->flinfo->fn_oid)) \
			contract_check(&contract, fcinfo); \
		return name(fcinfo); \
	} \
	extern int	no_such_variable

#endif							/* TWT_CONTRACT_H */
