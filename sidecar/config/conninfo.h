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
 * Can libpq read it?  When not, *reason is a palloc'd text that holds nothing
 * of a password.
 */
extern bool conninfo_check(const char *conninfo, char **reason) MUSTCHECK;

/*
 * A palloc'd copy that may be shown: the same text, or, when there is a
 * secret in it, an equivalent keyword string with asterisks in its place.
 */
extern char *conninfo_redact(const char *conninfo);

#endif							/* TWT_CONNINFO_H */
