/*-------------------------------------------------------------------------
 *
 * person_failures.h
 *		Failed logins: limited by address, and logged once a minute.
 *
 *		from: person.h			to: peer.h
 *
 * A token of 256 bits cannot be guessed, but whoever tries costs time and hides the
 * failure of others in the log.  So an address with many failures within a minute
 * is told to wait.  Right tokens are taken from there all the time, since other
 * people may have the same address.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_FAILURES_H
#define TWT_PERSON_FAILURES_H

#include "base/loop.h"
#include "web/peer.h"

#define FAILURES_MAX 30

typedef struct PersonFailures PersonFailures;

extern PersonFailures *person_failures_new(Loop *loop);
extern void person_failures_free(PersonFailures *failures);

/* Counts a failure.  Returns whether the address has had too many. */
extern bool person_failures_note(PersonFailures *failures, const HttpPeer *peer);

/* A header of the proxy has come from a peer that may not send it. */
extern void person_failures_note_header(PersonFailures *failures, const HttpPeer *peer,
										const char *header);

/* A system user has no entry. */
extern void person_failures_note_user(PersonFailures *failures, const HttpPeer *peer);

/* The database does not let us take on the role.  login: see persons_lack_role(). */
extern void person_failures_note_role(PersonFailures *failures, const char *role,
									  const char *login);

/* Whether that has happened in the last 90 seconds. */
extern bool person_failures_lack_role(const PersonFailures *failures);

#endif							/* TWT_PERSON_FAILURES_H */
