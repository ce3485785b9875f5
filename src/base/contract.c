/*-------------------------------------------------------------------------
 *
 * contract.c
 *		Whether the library knows the SQL that calls it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/call.h"
#include "base/contract.h"
#include "common/version.h"

typedef struct Known
{
	const char *version;		/* version of the SQL */
	const char *symbol;
	const char *declaration;
	const char *extension;
} Known;

static const Known known[] = {
#include "contracts.inc"
};

/* Contracts that were found right, until a function of the database changes. */
static Contract *checked;
static uint64 changes;

static void
function_changed(Datum arg, int cacheid, uint32 hash)
{
	changes++;
	for (; checked != NULL; checked = checked->next)
		checked->function = InvalidOid;
}

void
contract_init(void)
{
	CacheRegisterSyscacheCallback(PROCOID, function_changed, (Datum) 0);
}

static const Known *
find_known(const char *symbol)
{
	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if (strcmp(known[i].symbol, symbol) == 0)
			return &known[i];
	}
	return NULL;
}

/* Whether that version of the core has it as a function of its own. */
static bool
is_counted(const Known *it, const char *version)
{
	return strcmp(it->version, version) == 0 && strcmp(it->declaration, "any") != 0 &&
		strcmp(it->extension, "twtasks") == 0;
}

static bool
is_known_version(const char *version)
{
	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if (strcmp(known[i].version, version) == 0)
			return true;
	}
	return false;
}

/* The version of the SQL; NULL: there is no extension. */
static char *
sql_version(void)
{
	Relation	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *version = NULL;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("twtasks"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;

		version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion,
												   RelationGetDescr(extensions), &isnull));
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return version;
}

/* Whether the first version is the later one: digits with dots. */
static bool
is_later(const char *version, const char *than)
{
	for (;;)
	{
		char	   *rest;
		char	   *other;
		long		left = strtol(version, &rest, 10);
		long		right = strtol(than, &other, 10);

		if (left != right || *rest != '.' || *other != '.')
			return left > right || (left == right && *rest == '.');
		version = rest + 1;
		than = other + 1;
	}
}

static void
check_version(const char *version)
{
	if (is_known_version(version))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the library of twtasks %s does not know SQL of version %s", TWT_VERSION, version),
			 is_later(version, TWT_VERSION) ?
			 errhint("Restart the server if shared_preload_libraries has twtasks; otherwise open a new session. "
					 "If this does not help, install the library of version %s.", version) :
			 errhint("Run ALTER EXTENSION twtasks UPDATE.")));
}

/* Types of most arguments: a session's first call looks up few in the catalog. */
static const char *
common_type(Oid type)
{
	switch (type)
	{
		case TEXTOID:
			return "text";
		case JSONBOID:
			return "jsonb";
		case BYTEAOID:
			return "bytea";
		case UUIDOID:
			return "uuid";
		case INT4OID:
			return "int4";
		case INT8OID:
			return "int8";
		case TIMESTAMPTZOID:
			return "timestamptz";
		default:
			return NULL;
	}
}

/* As in pg_type, with the schema of types that are not the server's. */
static void
append_type(StringInfo text, Oid type)
{
	HeapTuple	tuple;
	Form_pg_type form;

	if (common_type(type) != NULL)
	{
		appendStringInfoString(text, common_type(type));
		return;
	}
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	if (form->typnamespace != PG_CATALOG_NAMESPACE)
		appendStringInfo(text, "%s.", get_namespace_name(form->typnamespace));
	appendStringInfoString(text, NameStr(form->typname));
	ReleaseSysCache(tuple);
}

/* As scripts/contracts.awk writes it. */
static char *
declaration_of(HeapTuple function)
{
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(function);
	StringInfoData text;
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			n = get_func_arg_info(function, &types, &names, &modes);

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
	{
		char		mode = modes == NULL ? PROARGMODE_IN : modes[i];

		appendStringInfoString(&text, i == 0 ? "" : ",");
		appendStringInfoString(&text, mode == PROARGMODE_IN ? "" :
							   mode == PROARGMODE_VARIADIC ? "variadic " : "out ");
		append_type(&text, types[i]);
	}
	appendStringInfoString(&text, form->proretset ? " > setof " : " > ");
	append_type(&text, form->prorettype);
	appendStringInfoString(&text, form->proisstrict ? " strict" : "");
	return text.data;
}

static void
check_declaration(HeapTuple function, const char *symbol)
{
	const Known *right = find_known(symbol);
	const char *declared;

	if (right != NULL && strcmp(right->declaration, "any") == 0)
		return;
	declared = declaration_of(function);
	if (right == NULL || strcmp(right->declaration, declared) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the library of twtasks %s does not know this function \"%s\"",
						TWT_VERSION, NameStr(((Form_pg_proc) GETSTRUCT(function))->proname)),
				 errdetail("The SQL of the extension says that it is version %s, but the function is declared as \"%s\" and not as \"%s\".",
						   sql_version(), declared, right == NULL ? "" : right->declaration),
				 errhint("Run ALTER EXTENSION twtasks UPDATE.")));
}

/* A change that arrives meanwhile leads to another check at the next call. */
void
contract_check(Contract *contract, FunctionCallInfo fcinfo)
{
	uint64		before = changes;
	HeapTuple	function = fetch_function(fcinfo->flinfo->fn_oid);

	check_declaration(function, contract->symbol);
	ReleaseSysCache(function);
	if (changes != before)
		return;
	if (!OidIsValid(contract->function))
	{
		contract->next = checked;
		checked = contract;
	}
	contract->function = fcinfo->flinfo->fn_oid;
}

bool
contract_is_symbol(FunctionCallInfo fcinfo, const char *symbol)
{
	HeapTuple	function = fetch_function(fcinfo->flinfo->fn_oid);
	bool		isnull;
	char	   *source = TextDatumGetCString(SysCacheGetAttr(PROCOID, function, Anum_pg_proc_prosrc, &isnull));
	bool		is_symbol = strcmp(source, symbol) == 0;

	ReleaseSysCache(function);
	pfree(source);
	return is_symbol;
}

/* Raises an error if it is a C function that the version does not have. */
static bool
check_member(Oid member, const char *version)
{
	HeapTuple	function = fetch_function(member);
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(function);
	bool		counts = false;

	if (form->prolang == ClanguageId)
	{
		bool		isnull;
		char	   *symbol = TextDatumGetCString(SysCacheGetAttr(PROCOID, function, Anum_pg_proc_prosrc, &isnull));

		check_declaration(function, symbol);
		counts = is_counted(find_known(symbol), version);
	}
	ReleaseSysCache(function);
	return counts;
}

/* The number of functions in C that the version has, and the database too. */
static int
check_members(Oid extension, const char *version)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	int			n = 0;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == ProcedureRelationId && form->deptype == DEPENDENCY_EXTENSION &&
			check_member(form->objid, version))
			n++;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return n;
}

void
contract_check_all(void)
{
	static uint64 checked_before = PG_UINT64_MAX;
	uint64		before = changes;
	char	   *version;
	int			has;
	int			needs = 0;

	if (likely(checked_before == changes))
		return;
	version = sql_version();
	if (version == NULL)
		return;
	check_version(version);
	has = check_members(get_extension_oid("twtasks", false), version);
	for (int i = 0; i < (int) lengthof(known); i++)
		needs += is_counted(&known[i], version);
	if (has != needs)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the library of twtasks %s does not know the SQL of this extension", TWT_VERSION),
				 errdetail("The SQL says that it is version %s, but has %d functions in C and not %d.",
						   version, has, needs),
				 errhint("Run ALTER EXTENSION twtasks UPDATE.")));
	checked_before = before;
}

TWT_FUNCTION(twt_check_library);
Datum
twt_check_library(PG_FUNCTION_ARGS)
{
	check_version(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}
