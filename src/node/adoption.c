/*-------------------------------------------------------------------------
 *
 * adoption.c
 *		Whether this database is where it was adopted, or a copy.
 *
 *		from: sql/cluster/adoption.sql			to: grab, and all else that executes
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/call.h"
#include "base/contract.h"
#include "base/shape.h"
#include "node/adoption.h"
#include "node/marker.h"

/*
 * A server writes this into the history after it recovered all WAL there was.
 */
#define RECOVERED_ALL "no recovery target specified"

#define FILES_COPIED "the cluster's files were copied or restored"

/* Columns of twtasks.adoption, in order. */
enum
{
	ADOPTION_ID = 1,
	ADOPTION_ENVIRONMENT,
	ADOPTION_SYSTEM_IDENTIFIER,
	ADOPTION_DATABASE,
	ADOPTION_TIMELINE,
	ADOPTION_CONTROL_FILE,
	ADOPTION_DIRECTORY,
	ADOPTION_MACHINE,
	ADOPTION_COOKIE,
	ADOPTION_INODE,
	ADOPTION_BIRTH,
	ADOPTION_ENDED
};

static const ShapeColumn adoption_columns[] = {
	{"id", UUIDOID},
	{"environment", TEXTOID},
	{"system_identifier", INT8OID},
	{"database", OIDOID},
	{"timeline", INT8OID},
	{"control_file", INT8OID},
	{"directory", INT8OID},
	{"machine", INT8OID},
	{"cookie", UUIDOID},
	{"inode", INT8OID},
	{"birth", INT8OID},
	{"ended", TIMESTAMPTZOID}
};

static const Shape adoption_shape = SHAPE_BY_NUMBER("adoption", adoption_columns);

#define MACHINE_ID_FILE "/etc/machine-id"

/* A database in a cluster, the cluster's files, and where they are. */
typedef struct Place
{
	int64		system_identifier;
	Oid			database;
	TimeLineID	timeline;
	int64		control_file;	/* the inode of pg_control; a copy has another
								 * one */
	int64		directory;		/* a hash of its path */
	int64		machine;		/* a hash of the machine's id; 0: it has none */
} Place;

/* The facts in a row of twtasks.adoption. */
typedef struct Adopted
{
	Place		place;
	Marker		marker;
	bool		has_environment;
	bool		is_committed;
} Adopted;

/* The cached answer; fault is NULL when the database is adopted. */
static bool is_known;
static char *known_fault;
static Oid	adoption_table;

static void
forget(Datum arg, Oid relation)
{
	if (!OidIsValid(relation) || relation == adoption_table)
		is_known = false;
}

void
adoption_init(void)
{
	CacheRegisterRelcacheCallback(forget, (Datum) 0);
}

static int64
hash_text(const char *text, size_t length)
{
	return (int64) DatumGetUInt64(hash_any_extended((const unsigned char *) text, (int) length, 0));
}

static int64
hash_machine(void)
{
	char		text[64];
	size_t		length = 0;
	FILE	   *file = AllocateFile(MACHINE_ID_FILE, "r");

	if (file != NULL)
	{
		length = fread(text, 1, sizeof(text), file);
		FreeFile(file);
	}
	return length == 0 ? 0 : hash_text(text, length);
}

/* The server works in its data directory; this path of it has no links. */
static int64
hash_directory(void)
{
	char		path[MAXPGPATH];

	if (getcwd(path, sizeof(path)) == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not identify the data directory: %m")));
	return hash_text(path, strlen(path));
}

static void
get_place(Place *place)
{
	struct stat status;

	if (stat(XLOG_CONTROL_FILE, &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", XLOG_CONTROL_FILE)));
	place->system_identifier = (int64) GetSystemIdentifier();
	place->database = MyDatabaseId;
	place->timeline = GetWALInsertionTimeLine();
	place->control_file = (int64) status.st_ino;
	place->directory = hash_directory();
	place->machine = hash_machine();
}

/*
 * One line of a timeline's history: the timeline that was left, where, and
 * why, separated by tabs.  False for comments and empty lines.
 */
static bool
parse_history(char *line, TimeLineID *left, const char **why)
{
	char	   *end;

	line[strcspn(line, "\n")] = '\0';
	*left = strtoul(line, &end, 10);
	if (end == line || *end != '\t')
		return false;
	end = strchr(end + 1, '\t');
	*why = end == NULL ? "" : end + 1;
	return true;
}

/*
 * Whether only promotions lead from that timeline to ours.  Returns NULL, or
 * the other reason that the history gives.
 */
static char *
check_history(TimeLineID from, TimeLineID to)
{
	char		path[MAXPGPATH];
	char		line[MAXPGPATH];
	bool		is_ancestor = false;
	char	   *fault = NULL;
	FILE	   *file;

	TLHistoryFilePath(path, to);
	file = AllocateFile(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		TimeLineID	left;
		const char *why;

		if (!parse_history(line, &left, &why) || left < from)
			continue;
		is_ancestor |= left == from;
		if (fault == NULL && strncmp(why, RECOVERED_ALL, strlen(RECOVERED_ALL)) != 0)
			fault = psprintf("it was recovered to a point in time (%s)", why);
	}
	if (file != NULL)
		FreeFile(file);
	if (!is_ancestor)
		return pstrdup("its history is not that of the cluster for which it was adopted");
	return fault;
}

/*
 * A volume, or a snapshot of it, may be attached to another machine.  Only the
 * environment tells the two apart then.
 */
static char *
compare(const Adopted *adopted, const Place *here)
{
	const Place *there = &adopted->place;

	if (there->system_identifier != here->system_identifier)
		return pstrdup("it came from another cluster");
	if (there->database != here->database)
		return pstrdup("it is a copy of another database");
	if (there->timeline != here->timeline)
		return check_history(there->timeline, here->timeline);
	if (there->control_file != here->control_file)
		return pstrdup(FILES_COPIED);
	if (there->machine != here->machine)
		return adopted->has_environment ? NULL :
			pstrdup("it was started on another machine, and has no environment");
	if (there->directory != here->directory)
		return pstrdup("it was started from another directory of this machine");
	return NULL;
}

static Datum
get_column(HeapTuple row, TupleDesc desc, int number)
{
	bool		isnull;
	Datum		value = heap_getattr(row, number, desc, &isnull);

	Assert(!isnull);
	return value;
}

static void
read_row(HeapTuple row, TupleDesc desc, Adopted *adopted)
{
	Place	   *place = &adopted->place;
	Marker	   *marker = &adopted->marker;

	place->system_identifier = DatumGetInt64(get_column(row, desc, ADOPTION_SYSTEM_IDENTIFIER));
	place->database = DatumGetObjectId(get_column(row, desc, ADOPTION_DATABASE));
	place->timeline = (TimeLineID) DatumGetInt64(get_column(row, desc, ADOPTION_TIMELINE));
	place->control_file = DatumGetInt64(get_column(row, desc, ADOPTION_CONTROL_FILE));
	place->directory = DatumGetInt64(get_column(row, desc, ADOPTION_DIRECTORY));
	place->machine = DatumGetInt64(get_column(row, desc, ADOPTION_MACHINE));
	marker->cookie = *DatumGetUUIDP(get_column(row, desc, ADOPTION_COOKIE));
	marker->inode = DatumGetInt64(get_column(row, desc, ADOPTION_INODE));
	marker->birth = DatumGetInt64(get_column(row, desc, ADOPTION_BIRTH));
	adopted->has_environment = !heap_attisnull(row, ADOPTION_ENVIRONMENT, desc);
	adopted->is_committed =
		!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
}

/*
 * Counts the places for which the database is adopted; *adopted gets the last
 * one.
 */
static int
read_adopted(Oid table, Adopted *adopted)
{
	Relation	relation = table_open(table, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(relation);
	SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	row;
	int			count = 0;

	shape_check(&adoption_shape, relation);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		if (!heap_attisnull(row, ADOPTION_ENDED, desc))
			continue;
		read_row(row, desc, adopted);
		count++;
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return count;
}

/* Whether the marker was changed after the row was read. */
static bool
is_outdated(Oid table, const Adopted *adopted)
{
	Adopted		now = *adopted;

	(void) read_adopted(table, &now);
	return memcmp(&now.marker.cookie, &adopted->marker.cookie, sizeof(pg_uuid_t)) != 0;
}

/* *is_final says whether the answer may be cached. */
static char *
find_fault(Oid table, bool *is_final)
{
	Adopted		adopted = {0};
	Place		here;
	MarkerState state;
	char	   *fault;

	do
	{
		int			count = read_adopted(table, &adopted);

		*is_final = true;
		if (count == 0)
			return pstrdup("it was never adopted");
		if (count > 1)
			return pstrdup("it was restored from a dump");
		get_place(&here);
		fault = compare(&adopted, &here);
		if (fault != NULL || adopted.place.timeline != here.timeline)
			return fault;
		state = marker_check(&adopted.marker, adopted.is_committed);
		*is_final = state != MARKER_UNCOMMITTED;
	} while (state == MARKER_COPIED && is_outdated(table, &adopted));
	return state == MARKER_COPIED ? pstrdup(FILES_COPIED) : NULL;
}

/*
 * NULL when adopted, else the reason why not.  We do not cache the answer
 * during recovery, since the session lives on when the server is promoted.
 */
static const char *
get_fault(void)
{
	char	   *fault;
	bool		is_final;

	if (RecoveryInProgress())
		return "the server is a standby";
	if (is_known)
		return known_fault;
	adoption_table = get_relname_relid("adoption", get_namespace_oid("twtasks", false));
	if (!OidIsValid(adoption_table))
		return "the extension is not complete";
	fault = find_fault(adoption_table, &is_final);
	if (known_fault != NULL)
		pfree(known_fault);
	known_fault = fault == NULL ? NULL : MemoryContextStrdup(TopMemoryContext, fault);
	is_known = is_final;
	return known_fault;
}

bool
twt_is_adopted(void)
{
	return get_fault() == NULL;
}

TWT_FUNCTION(twt_is_adopted_here);
Datum
twt_is_adopted_here(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(twt_is_adopted());
}

TWT_FUNCTION(twt_adoption_fault);
Datum
twt_adoption_fault(PG_FUNCTION_ARGS)
{
	const char *fault = get_fault();

	if (fault == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(fault));
}

TWT_FUNCTION(twt_own_place);
Datum
twt_own_place(PG_FUNCTION_ARGS)
{
	Datum		values[6];
	bool		nulls[6] = {0};
	Place		here;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("a standby cannot be adopted"),
				 errhint("Promote it first.")));
	get_place(&here);
	values[0] = Int64GetDatum(here.system_identifier);
	values[1] = ObjectIdGetDatum(here.database);
	values[2] = Int64GetDatum((int64) here.timeline);
	values[3] = Int64GetDatum(here.control_file);
	values[4] = Int64GetDatum(here.directory);
	values[5] = Int64GetDatum(here.machine);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}
