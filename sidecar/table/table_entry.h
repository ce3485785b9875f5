/*-------------------------------------------------------------------------
 *
 * table_entry.h
 *		A trigger in the table, as other modules see it.
 *
 *		from: table.h			to: batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_ENTRY_H
#define TWT_TABLE_ENTRY_H

#include "base/row_place.h"
#include "common/trigger.h"
#include "slots/slots.h"

/* A trigger in the table, linked to the data of its type. */
typedef struct TableEntry TableEntry;

/*
 * The content of the trigger.  The text of the type lives as long as the
 * entry.
 */
extern const uint8 *table_entry_id(const TableEntry *entry);
extern int64 table_entry_version(const TableEntry *entry);
extern int	table_entry_size(const TableEntry *entry);
extern const RowPlace *table_entry_place(const TableEntry *entry);
extern const char *table_entry_type(const TableEntry *entry);

/* The answer of the table's resolve function for the type. */
extern Limit *table_entry_limit(const TableEntry *entry);
extern void *table_entry_tag(const TableEntry *entry);

#endif							/* TWT_TABLE_ENTRY_H */
