/*-------------------------------------------------------------------------
 *
 * forward_conf.h
 *		The Kafka clients of triggers: their topics and settings.
 *
 *		from: forward.c, forwarded.c			to: kafka.h
 *
 * The settings of the section "kafka" are in force.  They cannot change what a
 * client's code relies on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FORWARD_CONF_H
#define TWT_FORWARD_CONF_H

#include <librdkafka/rdkafka.h>

#include "config/kafka_options.h"

/* Returns the name of the bucket's topic, palloc'd; prefix may be "". */
extern char *forward_topic(const KafkaOptions *options, const char *prefix, const char *bucket);

/* NULL, with a palloc'd reason: a secret file has become unreadable. */
extern rd_kafka_conf_t * forward_producer_conf(const KafkaOptions *options, char **reason) MUSTCHECK;
extern rd_kafka_conf_t * forward_consumer_conf(const KafkaOptions *options, char **reason) MUSTCHECK;

#endif							/* TWT_FORWARD_CONF_H */
