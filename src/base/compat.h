/*-------------------------------------------------------------------------
 *
 * compat.h
 *		The only file that knows PostgreSQL's version.
 *
 * Gives older servers the newest server's names, so that function bodies are
 * written once.  An unknown major version fails to compile: what is legal in a
 * transaction callback has to be looked up anew for each version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_COMPAT_H
#define TWT_COMPAT_H

#include "access/genam.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/regproc.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "twtasks supports PostgreSQL 15 to 18"
#endif

#if PG_VERSION_NUM >= 160000
#define twt_may_execute(function, role) \
	(object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK)
#define twt_may_use(schema, role) \
	(object_aclcheck(NamespaceRelationId, schema, role, ACL_USAGE) == ACLCHECK_OK)
#define twt_parse_name(text) stringToQualifiedNameList(text, NULL)
#define twt_locator(relation) ((relation)->rd_locator)
#define twt_may_become(member, role) member_can_set_role(member, role)
#else
#define twt_may_execute(function, role) \
	(pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK)
#define twt_may_use(schema, role) \
	(pg_namespace_aclcheck(schema, role, ACL_USAGE) == ACLCHECK_OK)
#define twt_parse_name(text) stringToQualifiedNameList(text)
#define twt_locator(relation) ((relation)->rd_node)
#define twt_may_become(member, role) is_member_of_role(member, role)
#endif

#if PG_VERSION_NUM >= 160000
#define TwtUpdateIndexes TU_UpdateIndexes
#define twt_update_indexes(indexes) ((indexes) != TU_None)
#define twt_only_summarizing(indexes) ((indexes) == TU_Summarizing)
#define twt_insert_index_tuples(target, slot, estate, update, summarizing) \
	((void) ExecInsertIndexTuples(target, slot, estate, update, false, NULL, NIL, summarizing))
#else
#define TwtUpdateIndexes bool
#define twt_update_indexes(indexes) (indexes)
#define twt_only_summarizing(indexes) false
#define twt_insert_index_tuples(target, slot, estate, update, summarizing) \
	((void) ExecInsertIndexTuples(target, slot, estate, update, false, NULL, NIL))
#endif

#if PG_VERSION_NUM >= 180000
#define twt_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan(table, index, snapshot, NULL, nkeys, 0)
#else
#define twt_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan(table, index, snapshot, nkeys, 0)
#endif

#if PG_VERSION_NUM >= 170000
#define twt_json_lexer(text, encoding) \
	makeJsonLexContextCstringLen(NULL, text, strlen(text), encoding, false)
#else
#define twt_json_lexer(text, encoding) \
	makeJsonLexContextCstringLen(text, strlen(text), encoding, false)
#endif

#if PG_VERSION_NUM >= 170000
#define twt_holds_lock(tag, mode) LockHeldByMe(tag, mode, false)
#define twt_my_proc_number() ((uint32) MyProcNumber)
#else
#define twt_holds_lock(tag, mode) LockHeldByMe(tag, mode)
#define twt_my_proc_number() ((uint32) MyProc->pgprocno)
#endif

#if PG_VERSION_NUM >= 180000
#define TWT_MODULE_MAGIC(its_name, its_version) \
	PG_MODULE_MAGIC_EXT(.name = its_name, .version = its_version)
#else
#define TWT_MODULE_MAGIC(its_name, its_version) PG_MODULE_MAGIC
#endif

#endif							/* TWT_COMPAT_H */
