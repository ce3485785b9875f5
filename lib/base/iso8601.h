/*-------------------------------------------------------------------------
 *
 * iso8601.h
 *		Points in time as handlers write them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ISO8601_H
#define TWT_ISO8601_H

/*
 * "2031-05-06T07:08:09.25Z" -> microseconds since 1970, UTC.  Seconds and
 * their fraction may be missing, a space may stand for the T, and the zone is
 * Z or an offset (+02:00, +0200, +02) but never missing.  False for all else,
 * impossible dates included; years 1 to 9999.
 */
extern bool iso8601_parse(const char *text, int64 *us) MUSTCHECK;

#endif							/* TWT_ISO8601_H */
