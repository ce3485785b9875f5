/*-------------------------------------------------------------------------
 *
 * table_entry.c
 *		A trigger in the table, as other modules see it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table/column.h"
#include "table/table_entry.h"

const uint8 *
table_entry_id(const TableEntry *entry)
{
	return entry->id;
}

int64
table_entry_version(const TableEntry *entry)
{
	return entry->version;
}

const RowPlace *
table_entry_place(const TableEntry *entry)
{
	return &entry->place;
}

int
table_entry_size(const TableEntry *entry)
{
	return entry->size;
}

const char *
table_entry_type(const TableEntry *entry)
{
	return entry->column->type;
}

Limit *
table_entry_limit(const TableEntry *entry)
{
	return entry->column->limit;
}

void *
table_entry_tag(const TableEntry *entry)
{
	return entry->column->tag;
}
