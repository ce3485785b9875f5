/*-------------------------------------------------------------------------
 *
 * handler.c
 *		A configured handler: which types it runs, and its slots.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/handler.h"

/* Time for a finish that has to wait for the database. */
#define FINISH_MARGIN_US SECONDS_TO_US(10)

struct Handler
{
	const HandlerConfig *config;
	Policies   *policies;
	Limit	   *limit;
	char	   *name;
	int64		bytes;			/* texts of its tasks in memory */
	bool		is_laden;		/* has more bytes than it may have */
	void	   *data;
};

Handler *
handler_new(const HandlerConfig *config, Policies *policies, Limit *parent)
{
	Handler    *handler = palloc0(sizeof(Handler));

	handler->config = config;
	handler->policies = policies;
	handler->name = psprintf("%s%s", config->types[0],
							 config->ntypes > 1 ? ", ..." : "");
	handler->limit = limit_new(handler->name, config->concurrency, parent);
	return handler;
}

void
handler_free(Handler *handler)
{
	limit_free(handler->limit);
	pfree(handler->name);
	pfree(handler);
}

const HandlerConfig *
handler_config(const Handler *handler)
{
	return handler->config;
}

Limit *
handler_limit(const Handler *handler)
{
	return handler->limit;
}

Policy *
handler_policy(const Handler *handler, const char *type)
{
	return policies_of(handler->policies, type);
}

int64
handler_stuck_us(const Handler *handler, int64 timeout_us)
{
	return timeout_us + handler->config->grace_us + FINISH_MARGIN_US;
}

int64
handler_stuck_after_grab_us(const Handler *handler, int64 timeout_us)
{
	const HandlerConfig *config = handler->config;

	return config->waits_for * (timeout_us + config->grace_us) +
		handler_stuck_us(handler, timeout_us);
}

/* A task in memory has a slot, so a handler with one slot has none to give. */
static void
set_slots(Handler *handler)
{
	handler->is_laden = handler->bytes > handler->config->memory;
	limit_set_max(handler->limit, handler->is_laden ? 1 : handler->config->concurrency);
}

void
handler_count_bytes(Handler *handler, int64 bytes)
{
	handler->bytes += bytes;
	if (handler->is_laden != (handler->bytes > handler->config->memory))
		set_slots(handler);
}

void
handler_reload(Handler *handler, const HandlerConfig *config)
{
	handler->config = config;
	set_slots(handler);
}

void *
handler_data(const Handler *handler)
{
	return handler->data;
}

void
handler_set_data(Handler *handler, void *data)
{
	handler->data = data;
}
