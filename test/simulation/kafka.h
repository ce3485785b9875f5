/*-------------------------------------------------------------------------
 *
 * kafka.h
 *		The helper that takes triggers through Kafka in the simulation, and its brokers.
 *
 * The product's own forward.c and helper.c talk to it.  The pipe to it is the border: its
 * program needs a broker.  The brokers lose, double, delay and mix triggers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_KAFKA_H
#define SIM_KAFKA_H

#include "process.h"

/* As a sidecar's configuration names it. */
#define KAFKA_SECTION "kafka:\n  brokers: [\"simulated:9092\"]\n  group: simulated\n"

typedef struct Kafka Kafka;

/* Its process ends with that status.  It may be called at once. */
typedef void (*KafkaExit) (void *arg, int status);

extern void kafka_begin(void);
extern Kafka *kafka_new(Process *process, int in, int out);
extern void kafka_on_exit(Kafka *kafka, KafkaExit exit, void *arg);
extern void kafka_free(Kafka *kafka);

/* Its input may have something to read, or have ended. */
extern void kafka_look(Kafka *kafka);

#endif							/* SIM_KAFKA_H */
