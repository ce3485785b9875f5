/*-------------------------------------------------------------------------
 *
 * ctl_sql.h
 *		Pieces of SQL that several verbs have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CTL_SQL_H
#define TWT_CTL_SQL_H

#define SQL_IS_DURATION(n) n " ~ '^[0-9]+ *[a-z]+$'"

/* A duration stands for the time so long ago. */
#define SQL_PAST(n) " CASE WHEN " SQL_IS_DURATION(n) " THEN twtasks.clock() - " n "::interval" \
	" ELSE " n "::timestamptz END "

/* A duration stands for the time after it. */
#define SQL_FUTURE(n) " CASE WHEN " SQL_IS_DURATION(n) " THEN twtasks.clock() + " n "::interval" \
	" ELSE " n "::timestamptz END "

/* The statuses in a list with commas. */
#define SQL_STATUSES(n) " string_to_array(upper(" n "), ',')::twtasks.task_status[] "

/* The task that ID or --key names, as the first two parameters. */
#define SQL_TASK_ID " coalesce($1::uuid, twtasks.id_of($2)) "

/* Whether a column fits a type, or the beginning of types and a star. */
#define SQL_FITS(column, n) " CASE WHEN " n "::text IS NULL THEN true" \
	" WHEN right(" n ", 1) = '*' THEN starts_with(" column ", left(" n ", -1)) ELSE " column " = " n " END "

/* The minutes that sidecars told of lately, each with the seconds of them all. */
#define SQL_RECENT " (SELECT w.*, greatest(extract(epoch FROM max(w.at + w.step) OVER () - min(w.at) OVER ()), 60) AS seconds" \
	" FROM twtasks.flow w WHERE w.at >= (SELECT twtasks.clock()) - interval '5 minutes' AND w.step < interval '1 hour') "

/* How often that was, per minute. */
#define SQL_PER_MINUTE(count) " round(sum(" count ") * 60 / max(l.seconds), 1) "

#endif							/* TWT_CTL_SQL_H */
