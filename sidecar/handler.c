/*-------------------------------------------------------------------------
 *
 * handler.c
 *		A configured handler: which types it runs, and its slots.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "handler.h"

struct Handler
{
	const HandlerConfig *config;
	Limit	   *limit;
	char	   *name;
	void	   *data;
};

Handler *
handler_new(const HandlerConfig *config, Limit *parent)
{
	Handler    *handler = palloc0(sizeof(Handler));

	handler->config = config;
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

void
handler_reload(Handler *handler, const HandlerConfig *config)
{
	handler->config = config;
	limit_set_max(handler->limit, config->concurrency);
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

const char *
handler_name(const Handler *handler)
{
	return handler->name;
}
