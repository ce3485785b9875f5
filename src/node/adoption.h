/*-------------------------------------------------------------------------
 *
 * adoption.h
 *		Whether this database is where it was adopted, or a copy.
 *
 * A copy must not execute the tasks of its original.  twtasks.adoption names
 * the place for which the database was adopted; CREATE EXTENSION writes the
 * first row.  The session compares that place with the present one:
 *
 *	 event        					how it shows
 *	 dump restored					a second row, of the original
 *	 CREATE DATABASE ... TEMPLATE	another database
 *	 pg_upgrade						another system identifier
 *	 files copied, started			another pg_control, on the same timeline
 *	 files written over themselves	another marker: see marker.h
 *	 directory moved				another path on the same machine
 *	 moved to another machine		its id; goes on where there is an environment
 *	 recovered to a point in time	the history of the timeline says so
 *	 standby promoted				a new timeline, recovered to its end: goes on
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ADOPTION_H
#define TWT_ADOPTION_H

/*
 * Whether tasks may be executed here.  The session looks once, and again after
 * every change of twtasks.adoption.  Raises only errors of the catalogs and of
 * the file system.
 */
extern bool twt_is_adopted(void);

/* From _PG_init(). */
extern void adoption_init(void);

#endif							/* TWT_ADOPTION_H */
