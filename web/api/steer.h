/*-------------------------------------------------------------------------
 *
 * steer.h
 *		Routes that change limits, policies, buckets and schedules, and those for
 *		incidents.
 *
 *		from: api_tables.c		to: api_route.h
 *
 * A change names the changed_at of the object that its caller has seen, or "new" if
 * there was none, so it overwrites no change of others: see lock_setting() in SQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STEER_H
#define TWT_STEER_H

#include "web/api/api_route.h"

extern const ApiTable api_steer;

#endif							/* TWT_STEER_H */
