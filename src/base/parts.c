/*-------------------------------------------------------------------------
 *
 * parts.c
 *		Partitions by time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
#include "utils/timestamp.h"

#include "base/parts.h"

Oid
parts_find(Relation whole, TimestampTz at)
{
	PartitionKey key = RelationGetPartitionKey(whole);
	PartitionDesc parts = RelationGetPartitionDesc(whole, true);
	Datum		value = TimestampTzGetDatum(at);
	bool		is_equal;
	int			bound;
	int			index;

	if (parts->nparts == 0)
		return InvalidOid;
	bound = partition_range_datum_bsearch(key->partsupfunc, key->partcollation,
										  parts->boundinfo, 1, &value, &is_equal);
	index = parts->boundinfo->indexes[bound + 1];
	if (index < 0)
		index = parts->boundinfo->default_index;
	return index < 0 ? InvalidOid : parts->oids[index];
}
