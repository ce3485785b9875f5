/*-------------------------------------------------------------------------
 *
 * kafka_conf.h
 *		Settings of librdkafka, as a configuration file has them.
 *
 *		from: settings of a handler			to: kafka.h
 *
 * Settings pass verbatim, unless one of our guarantees depends on them.  A
 * secret comes from a file, never from a setting.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KAFKA_CONF_H
#define TWT_KAFKA_CONF_H

#include <jansson.h>
#include <librdkafka/rdkafka.h>

/* Both texts are palloc'd; setting is a path such as settings["linger.ms"]. */
typedef struct KafkaFault
{
	char	   *setting;
	char	   *reason;
} KafkaFault;

/* A setting that one of the file may replace. */
typedef struct KafkaDefault
{
	const char *name;
	const char *value;
} KafkaDefault;

/*
 * Sets the defaults, which end with a NULL, then the members of the object: brokers (a
 * list), settings (an object), and secrets (an object of paths by the names of
 * settings).  Host names of TLS certificates are checked unless a setting says
 * otherwise.  NULL on failure.
 */
extern rd_kafka_conf_t * kafka_conf_new(const json_t *object, const KafkaDefault *defaults,
										KafkaFault *fault) MUSTCHECK;

/* Sets a setting that the program itself decides; the setting must exist. */
extern void kafka_conf_set(rd_kafka_conf_t * conf, const char *name, const char *value);

/* Returns the fault of a topic's name; NULL: none. */
extern const char *kafka_topic_check(const char *name);

/* The texts of a list, which end with a NULL; none, unless it is a list. */
extern char **kafka_texts_new(const json_t *list);
extern void kafka_texts_free(char **texts);

#endif							/* TWT_KAFKA_CONF_H */
