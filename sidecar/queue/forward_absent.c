/*-------------------------------------------------------------------------
 *
 * forward_absent.c
 *		The forwarding of a sidecar that was built without Kafka.
 *
 * The configuration refuses "queue: kafka" there, so nothing opens it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "queue/forward.h"

Forward *
forward_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep)
{
	return NULL;
}

void
forward_free(Forward *forward)
{
}

void
forward_trigger(Forward *forward, int bucket, const Trigger *trigger)
{
}

void
forward_leave(Forward *forward)
{
}

bool
forward_has_left(const Forward *forward)
{
	return true;
}
