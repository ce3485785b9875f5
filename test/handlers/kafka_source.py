#!/usr/bin/python3
"""kafka_source.py BROKERS TOPIC RATE PREFIX -- produces so many messages a
second, "PREFIX 1", "PREFIX 2" and so on, until its stdin ends.

The last line that it prints is the number of acknowledged messages.
"""

import select
import sys
import time

from confluent_kafka import Producer

brokers, topic, rate, prefix = sys.argv[1:]
acknowledged = 0


def count(error, _):
    global acknowledged
    if not error:
        acknowledged += 1


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
        producer.produce(topic, f"{prefix} {made}", on_delivery=count)
    producer.poll(0)
producer.flush(60)
print(acknowledged)
