/*-------------------------------------------------------------------------
 *
 * act.h
 *		Routes that change tasks.
 *
 *		from: api_tables.c		to: api_route.h
 *
 * A change names the version of the task that its caller has seen, and a reason.  A
 * change of many tasks names those of a preview, so it touches no other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ACT_H
#define TWT_ACT_H

#include "web/api/api_route.h"

extern const ApiTable api_act;

#endif							/* TWT_ACT_H */
