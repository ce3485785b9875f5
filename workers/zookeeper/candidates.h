/*-------------------------------------------------------------------------
 *
 * candidates.h
 *		The nodes of an election's candidates, by their names.
 *
 * A candidate's node is named by the GUID of its session, a hyphen and the sequence
 * number that ZooKeeper gave.  Nodes of other names are not candidates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CANDIDATES_H
#define TWT_CANDIDATES_H

#include <zookeeper/zookeeper.h>

/* The length of a GUID, in hexadecimal. */
#define GUID_LEN 32

/* The name with this GUID; NULL: there is none. */
extern const char *candidates_own(const struct String_vector *names, const char *guid);

/* The last candidate before this one; NULL: there is none. */
extern const char *candidates_before(const struct String_vector *names, const char *own);

#endif							/* TWT_CANDIDATES_H */
