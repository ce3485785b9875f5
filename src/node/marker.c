/*-------------------------------------------------------------------------
 *
 * marker.c
 *		A file of the data directory that tells it from its copies.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older C libraries lack statx(), and musl its structure too. */
#ifndef STATX_BTIME
#include <linux/stat.h>
#endif

#include "commands/dbcommands.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"

#include "base/call.h"
#include "base/contract.h"
#include "node/marker.h"

#define PREFIX "twtasks."

static char *
marker_path(void)
{
	return psprintf(PREFIX "%u", MyDatabaseId);
}

static char *
new_path(const pg_uuid_t *cookie)
{
	return psprintf(PREFIX "%u.%s", MyDatabaseId,
					DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(cookie))));
}

static bool
identify_by_statx(const char *path, Marker *marker)
{
	struct statx status;

	if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
				STATX_INO | STATX_BTIME, &status) != 0)
		return false;
	marker->inode = (int64) status.stx_ino;
	if (status.stx_mask & STATX_BTIME)
		marker->birth = status.stx_btime.tv_sec * INT64CONST(1000000000) + status.stx_btime.tv_nsec;
	return true;
}

/* Without a time of birth. */
static bool
identify_by_stat(const char *path, Marker *marker)
{
	struct stat status;

	if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	marker->inode = (int64) status.st_ino;
	return true;
}

/*
 * Reads the features that tell the file from a copy; false when there is no
 * file.  A kernel before 4.11 and some sandboxes refuse statx().
 */
static bool
identify(const char *path, Marker *marker)
{
	marker->birth = 0;
	if (identify_by_statx(path, marker))
		return true;
	if ((errno == ENOSYS || errno == EPERM) && identify_by_stat(path, marker))
		return true;
	if (errno != ENOENT)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	return false;
}

/*
 * Renames the marker once its row is committed.  Another session may be
 * quicker, and a later marker has another name.
 */
static void
settle(const char *from, const char *to)
{
	if (rename(from, to) != 0 && errno != ENOENT)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not rename file \"%s\" to \"%s\": %m", from, to)));
	fsync_fname(".", true);
}

/* A file system may begin to report the time of birth. */
static bool
is_same(const Marker *marker, const Marker *found)
{
	return marker->inode == found->inode &&
		(marker->birth == found->birth || marker->birth == 0 || found->birth == 0);
}

MarkerState
marker_check(const Marker *marker, bool is_committed)
{
	char	   *path = marker_path();
	char	   *from = new_path(&marker->cookie);
	Marker		found;

	if (identify(path, &found) && is_same(marker, &found))
		return MARKER_RIGHT;
	if (!identify(from, &found) || !is_same(marker, &found))
		return MARKER_COPIED;
	if (!is_committed)
		return MARKER_UNCOMMITTED;
	settle(from, path);
	return MARKER_RIGHT;
}

/*
 * Whether the file is of no use: a new marker of this database, or any marker
 * of a dropped database.
 */
static bool
is_left_over(const char *name)
{
	char	   *end;
	Oid			database;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	database = strtoul(name + strlen(PREFIX), &end, 10);
	if (end == name + strlen(PREFIX) || (*end != '.' && *end != '\0'))
		return false;
	return database == MyDatabaseId ? *end == '.' : get_database_name(database) == NULL;
}

static void
remove_leftovers(void)
{
	DIR		   *directory = AllocateDir(".");
	struct dirent *entry;

	while ((entry = ReadDir(directory, ".")) != NULL)
		if (is_left_over(entry->d_name) && unlink(entry->d_name) != 0 && errno != ENOENT)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not remove file \"%s\": %m", entry->d_name)));
	FreeDir(directory);
}

static void
make_file(const char *path)
{
	int			file = OpenTransientFile(path, O_CREAT | O_EXCL | O_WRONLY | PG_BINARY);

	if (file < 0 || pg_fsync(file) != 0 || CloseTransientFile(file) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create file \"%s\": %m", path)));
	fsync_fname(".", true);
}

/*
 * The caller has locked the row, and its last marker is settled.  Other new
 * markers were left behind by transactions that failed.
 */
TWT_FUNCTION(twt_make_marker);
Datum
twt_make_marker(PG_FUNCTION_ARGS)
{
	Datum		values[3];
	bool		nulls[3] = {false};
	Marker		made;
	char	   *path;

	made.cookie = *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, (Datum) 0));
	path = new_path(&made.cookie);
	remove_leftovers();
	make_file(path);
	if (!identify(path, &made))
		elog(ERROR, "file \"%s\" is not there", path);
	values[0] = UUIDPGetDatum(&made.cookie);
	values[1] = Int64GetDatum(made.inode);
	values[2] = Int64GetDatum(made.birth);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}
