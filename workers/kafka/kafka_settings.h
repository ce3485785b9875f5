/*-------------------------------------------------------------------------
 *
 * kafka_settings.h
 *		The settings of a Kafka handler, as its sidecar sends them.
 *
 *		from: worker_hello.h		to: sends.h
 *
 * The settings are the options of the configuration file, under the same
 * names; see docs/configuration.md.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KAFKA_SETTINGS_H
#define TWT_KAFKA_SETTINGS_H

#include <librdkafka/rdkafka.h>

#include "workers/lib/worker_fault.h"

typedef struct KafkaSettings
{
	char	   *topic;			/* exact, or a beginning and a * */
	bool		is_exact;
	rd_kafka_conf_t *conf;		/* for a producer that loses nothing */
} KafkaSettings;

/*
 * Reads the line {"hello": 1, ..., "settings": {...}}.  Returns NULL on
 * failure.
 */
extern KafkaSettings *kafka_settings_new(const char *hello, WorkerFault *fault) MUSTCHECK;
extern void kafka_settings_free(KafkaSettings *settings);

/*
 * Chooses the topic of a task, which may name one.  *topic is palloc'd, or NULL.
 * Returns the fault of the name; NULL: none.
 */
extern const char *kafka_settings_topic(const KafkaSettings *settings, const char *named,
										char **topic) MUSTCHECK;

#endif							/* TWT_KAFKA_SETTINGS_H */
