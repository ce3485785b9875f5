/*-------------------------------------------------------------------------
 *
 * marker.h
 *		A file of the data directory that tells it from its copies.
 *
 * A copy of the directory has the content of every file, but not the file
 * itself: a copied file has another inode, or another time of birth.  A copy
 * that overwrites an older or newer state of the same directory keeps both.
 * So another file takes the place of the marker at every start of the server
 * and every hour: a state and its marker come from the same hour.  We do not
 * look at times that chmod or chown change.
 *
 * The row of twtasks.adoption says which file is the marker.  A crash between
 * two markers does no harm at any point:
 *
 *	 twt_make_marker()		makes twtasks.DATABASE.COOKIE, in the transaction that
 *							changes the row; without its commit it means nothing
 *	 marker_check()			after that commit renames it to twtasks.DATABASE
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MARKER_H
#define TWT_MARKER_H

#include "utils/uuid.h"

typedef struct Marker
{
	pg_uuid_t	cookie;
	int64		inode;
	int64		birth;			/* 0: the file system or the kernel does not
								 * tell */
} Marker;

typedef enum MarkerState
{
	MARKER_RIGHT,
	MARKER_UNCOMMITTED,			/* right, but to be checked again */
	MARKER_COPIED				/* not there, or another file */
} MarkerState;

/*
 * Whether the file that the row names is in this directory.  Raises only
 * errors of the file system.
 */
extern MarkerState marker_check(const Marker *marker, bool is_committed);

#endif							/* TWT_MARKER_H */
