#!/usr/bin/python3
"""kafka_source.py BROKERS TOPIC RATE -- produces so many messages a second, 1, 2
and so on, until its stdin ends; prints the numbers of those that a broker has
acknowledged."""

import select
import sys
import time

from confluent_kafka import KafkaException, Producer

brokers, topic, rate = sys.argv[1:]


def tell(error, message):
    if not error:
        print(message.value().decode())


def new_producer():
    return Producer(
        {
            "bootstrap.servers": brokers,
            "acks": "all",
            "enable.idempotence": True,
            "message.timeout.ms": 60000,
            "log_level": 0,
        }
    )


def survive(producer, call):
    """Calls it, and returns the producer to go on with.  A producer whose sequence of
    messages a killed broker has torn is of no use any more."""
    try:
        call(producer)
    except KafkaException as error:
        if not error.args[0].fatal():
            raise
        print("a new producer, since", error, file=sys.stderr)
        return new_producer()
    return producer


def produce_due(producer):
    global made
    while made < (time.monotonic() - began) * float(rate):
        made += 1
        producer.produce(topic, str(made), on_delivery=tell)
    producer.poll(0)


producer = new_producer()
began = time.monotonic()
made = 0
while not select.select([sys.stdin], [], [], 0.05)[0]:
    producer = survive(producer, produce_due)
survive(producer, lambda producer: producer.flush(60))
