/*-------------------------------------------------------------------------
 *
 * kafka_options.h
 *		How to reach Kafka: the section "kafka" of the file.
 *
 * Triggers pass through these brokers with "queue: kafka".  A Kafka handler
 * without brokers of its own has these, with their settings and
 * secrets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KAFKA_OPTIONS_H
#define TWT_KAFKA_OPTIONS_H

#include <jansson.h>

#include "options/options.h"

typedef struct KafkaOptions
{
	char	  **brokers;		/* HOST:PORT; NULL: none given */
	char	   *group;			/* the nodes that share triggers */
	char	   *namespace;		/* the beginning of topics; NULL: none */
	char	  **prefixes;		/* put before topics that are also read; NULL:
								 * none */
	char	   *settings;		/* settings of librdkafka, a JSON object;
								 * NULL: none */
	char	   *secrets;		/* paths of secret files, by setting; NULL:
								 * none */
	char	   *stamp;			/* not an option: see secret_file_stamp() */
} KafkaOptions;

/* Describes the options of a KafkaOptions. */
extern const Section kafka_section;

/* The section as processes are told it; a stamp tells one secret from the next. */
extern json_t *kafka_options_told(const KafkaOptions *options);

/*
 * Returns false, after options_fail(), unless brokers and group are given.  A
 * settle function calls it.
 */
extern bool kafka_options_complete(const KafkaOptions *options, const Place *place);

#endif							/* TWT_KAFKA_OPTIONS_H */
