/*-------------------------------------------------------------------------
 *
 * listen_settings.h
 *		What the listeners read, and how, as the sidecar says it.
 *
 *		from: sidecar (one line of JSON)		to: listener.h
 *
 *	{"listen": 1, "node": NAME, "postgres": CONNINFO,
 *	 "log": "text" or "json", "level": "info",
 *	 "kafka": {"brokers": [...], "group": GROUP, "namespace": "",
 *			   "prefixes": [...], "settings": {...}, "secrets": {...}},
 *	 "listeners": [{"name": NAME, "topics": [...], "type": TYPE or null,
 *		"function": NAME or null, "value": "json" or "bytes",
 *		"key": as take_messages() has it, or null,
 *		"headers": [...] or null, "corrupt": "retry" or "task",
 *		"start": "latest", "earliest" or SECONDS}]}
 *
 * A listener reads [NAMESPACE.]TOPIC and, for each prefix,
 * PREFIX[NAMESPACE.]TOPIC.  Its group is [NAMESPACE.]GROUP.NAME: two listeners may
 * read one topic, each at its own pace, and tools show the lag of each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LISTEN_SETTINGS_H
#define TWT_LISTEN_SETTINGS_H

#include <librdkafka/rdkafka.h>

#include "base/log.h"
#include "workers/kafka/partition.h"
#include "workers/lib/worker_fault.h"

/* The texts that the database gets as they are; NULL: not set. */
typedef struct ListenerSettings
{
	char	   *name;
	char	  **topics;			/* as the brokers name them; NULL ends the
								 * list */
	char	   *type;
	char	   *function;
	char	   *value;
	char	   *key;
	char	  **headers;		/* NULL ends the list; "*" stands for all */
	char	   *corrupt;
	PartitionStart start;
	int64		age_ms;			/* for PARTITION_YOUNG */
	rd_kafka_conf_t *conf;		/* for a consumer that skips nothing */
} ListenerSettings;

typedef struct ListenSettings
{
	char	   *node;
	char	   *postgres;
	LogFormat	log;
	LogLevel	level;
	int			nlisteners;
	ListenerSettings *listeners;
} ListenSettings;

/* Reads the line.  Returns NULL on failure. */
extern ListenSettings *listen_settings_new(const char *line, WorkerFault *fault) MUSTCHECK;
extern void listen_settings_free(ListenSettings *settings);

#endif							/* TWT_LISTEN_SETTINGS_H */
