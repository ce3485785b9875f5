/*-------------------------------------------------------------------------
 *
 * conninfo.h
 *		libpq connection strings and URIs, and the passwords in them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONNINFO_H
#define TWT_CONNINFO_H

/*
 * Whether libpq can read the string.  If not, *reason is a palloc'd text that
 * contains no part of a password.
 */
extern bool conninfo_check(const char *conninfo, char **reason) MUSTCHECK;

/*
 * Returns a palloc'd copy that may be shown.  A string without secrets stays
 * the same; one with secrets becomes an equivalent keyword string with
 * asterisks.
 */
extern char *conninfo_redact(const char *conninfo);

#endif							/* TWT_CONNINFO_H */
