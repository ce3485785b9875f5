/*-------------------------------------------------------------------------
 *
 * conninfo.h
 *		libpq connection strings and URIs, and the passwords in them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONNINFO_H
#define TWT_CONNINFO_H

#include "libpq-fe.h"

/*
 * PQconninfoParse(), which cannot tell want of memory from a bad string: ends the
 * process when memory is out.  The caller frees the fault, which may be NULL if it
 * is not wanted.
 */
extern PQconninfoOption *conninfo_parse(const char *conninfo, char **fault);

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
