/*-------------------------------------------------------------------------
 *
 * trigger_settings.h
 *		How triggers pass through Kafka, as the sidecar's hello says it.
 *
 *		from: sidecar/queue/forward.c			to: trigger_send.h, trigger_read.h
 *
 *	{"hello": 1, "node": NAME,
 *	 "settings": {"format": "text" or "json", "level": "info", "buckets": [...],
 *				  "brokers": [...], "group": GROUP, "namespace": "",
 *				  "prefixes": [...], "settings": {...}, "secrets": {...}}}
 *
 * The settings of the section "kafka" are in force.  They cannot change what a
 * client's code relies on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRIGGER_SETTINGS_H
#define TWT_TRIGGER_SETTINGS_H

#include <jansson.h>
#include <librdkafka/rdkafka.h>

#include "base/log.h"
#include "workers/lib/worker_fault.h"

typedef struct TriggerSettings
{
	char	   *node;
	LogFormat	log;
	LogLevel	level;
	char	   *name;			/* namespace and group, as topics and the
								 * group of consumers begin */
	int			nbuckets;
	char	  **buckets;		/* NULL ends the list */
	char	  **prefixes;		/* NULL ends the list */
	rd_kafka_conf_t *producer;
	rd_kafka_conf_t *consumer;
} TriggerSettings;

/* Reads the hello.  Returns NULL on failure. */
extern TriggerSettings *trigger_settings_new(const char *hello, WorkerFault *fault) MUSTCHECK;
extern void trigger_settings_free(TriggerSettings *settings);

/* Returns the name of the bucket's topic, palloc'd; prefix may be "". */
extern char *trigger_settings_topic(const TriggerSettings *settings, const char *prefix, int bucket);

#endif							/* TWT_TRIGGER_SETTINGS_H */
