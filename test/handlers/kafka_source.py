#!/usr/bin/python3
"""kafka_source.py BROKERS TOPIC RATE -- produces so many messages a second, 1, 2
and so on, until its stdin ends; prints the numbers of those that a broker has
acknowledged."""

import select
import sys
import time

from confluent_kafka import Producer

brokers, topic, rate = sys.argv[1:]


def tell(error, message):
    if not error:
        print(message.value().decode())


producer = Producer(
    {
        "bootstrap.servers": brokers,
        "acks": "all",
        "enable.idempotence": True,
        "message.timeout.ms": 60000,
        "log_level": 0,
    }
)
began = time.monotonic()
made = 0
while not select.select([sys.stdin], [], [], 0.05)[0]:
    while made < (time.monotonic() - began) * float(rate):
        made += 1
        producer.produce(topic, str(made), on_delivery=tell)
    producer.poll(0)
producer.flush(60)
