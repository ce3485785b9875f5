#!/usr/bin/python3
"""A Kafka client of the tests: TwTasks::Kafka asks it in lines of JSON.

	kafka_client.py BROKERS

It uses Debian's python3-confluent-kafka.  Bytes are told as characters.
"""

import hashlib
import json
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

BROKERS = {"bootstrap.servers": sys.argv[1], "log_level": 0}
PATIENCE = 180
ANSWER = 15
SHOWN = 64 * 1024
UNANSWERED = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT)
NOT_YET = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
)


def wait(futures):
    for future in futures.values():
        future.result(timeout=PATIENCE)


def wait_for_brokers(ask):
    """Asks for new partitions.  A broker that was late with its heartbeat gets none until the next one."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return wait(ask())
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR or time.monotonic() > until:
                raise
        brokers()


def metadata(client, topic=None):
    """Asks again, perhaps another broker: one that is only starting may take a question and never answer it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return client.list_topics(topic, timeout=ANSWER)
        except KafkaException as error:
            if error.args[0].code() not in UNANSWERED or time.monotonic() > until:
                raise


def brokers():
    return len(metadata(AdminClient(BROKERS)).brokers)


def leader(topic, partition=0):
    return metadata(AdminClient(BROKERS), topic).topics[topic].partitions[partition].leader


def is_led(topic, partitions):
    """The controller has a new topic before the broker knows it."""
    return (
        not topic.error
        and len(topic.partitions) == partitions
        and all(place.leader >= 0 and not place.error for place in topic.partitions.values())
    )


def create(topic, partitions, config):
    admin = AdminClient(BROKERS)
    new = NewTopic(topic, num_partitions=partitions, replication_factor=-1, config=config)
    wait_for_brokers(lambda: admin.create_topics([new]))
    until = time.monotonic() + PATIENCE
    while not is_led(metadata(admin, topic).topics[topic], partitions):
        if time.monotonic() > until:
            raise RuntimeError("the new topic has no leaders")
        admin.poll(0.05)


def configure(topic, config):
    admin = AdminClient(BROKERS)
    wait(admin.alter_configs([ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=config)]))


def delete(topic):
    admin = AdminClient(BROKERS)
    wait(admin.delete_topics([topic]))


def grow(topic, partitions):
    admin = AdminClient(BROKERS)
    wait_for_brokers(lambda: admin.create_partitions([NewPartitions(topic, partitions)]))


def to_bytes(text):
    return None if text is None else str(text).encode("latin-1")


def produce(topic, messages, end=None):
    """end: "commit" or "abort" puts the messages into a transaction.  A message that is sent
    again after a lost answer is there once."""
    failures = []
    settings = {
        **BROKERS,
        "enable.idempotence": True,
        "message.timeout.ms": PATIENCE * 1000,
        "topic.metadata.propagation.max.ms": 3000,
        "message.max.bytes": 20000000,
    }
    if end:
        settings["transactional.id"] = "test"
        settings["transaction.timeout.ms"] = PATIENCE * 1000
    producer = Producer(settings)
    if end:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
    for message in messages:
        producer.produce(
            topic,
            value=to_bytes(message.get("value")),
            key=to_bytes(message.get("key")),
            partition=message.get("partition", -1),
            headers=[(name, to_bytes(value)) for name, value in message.get("headers", [])],
            timestamp=message.get("timestamp", 0),
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
    if producer.flush(PATIENCE) or failures:
        raise RuntimeError(failures or "messages were not acknowledged")
    if end == "commit":
        producer.commit_transaction(PATIENCE)
    elif end == "abort":
        producer.abort_transaction(PATIENCE)
    return len(messages)


def to_text(data):
    return None if data is None else data.decode("latin-1")


def describe(message):
    value = message.value()
    size = len(value or b"")
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "key": to_text(message.key()),
        "value": to_text(value) if size <= SHOWN else None,
        "size": size,
        "sha256": hashlib.sha256(value or b"").hexdigest(),
        "headers": [[name, to_text(data)] for name, data in message.headers() or []],
    }


def found(consumer, topic):
    until = time.monotonic() + PATIENCE
    while True:
        described = metadata(consumer, topic).topics[topic]
        if not described.error:
            return described
        if described.error.code() != KafkaError.LEADER_NOT_AVAILABLE or time.monotonic() > until:
            raise RuntimeError(str(described.error))
        consumer.poll(0.05)


def watermarks(consumer, place):
    """A broker is told last that it leads a new partition, after the clients."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return consumer.get_watermark_offsets(place, timeout=PATIENCE)
        except KafkaException as error:
            if error.args[0].code() not in NOT_YET or time.monotonic() > until:
                raise
        consumer.poll(0.05)
        found(consumer, place.topic)


def read_partition(consumer, topic, partition):
    place = TopicPartition(topic, partition, 0)
    low, high = watermarks(consumer, place)
    place.offset = low
    consumer.assign([place])
    while low < high:
        message = consumer.poll(PATIENCE)
        if message is None:
            raise RuntimeError("no message came")
        if not message.error():
            low = message.offset() + 1
            yield message
        elif message.error().code() == KafkaError._PARTITION_EOF:
            low = high


def messages_of(topic):
    """All messages that the topic has now, each partition in its order."""
    consumer = Consumer(
        {**BROKERS, "group.id": "test", "enable.auto.commit": False, "enable.partition.eof": True}
    )
    try:
        for partition in sorted(found(consumer, topic).partitions):
            yield from read_partition(consumer, topic, partition)
    finally:
        consumer.close()


def read(topic):
    return [describe(message) for message in messages_of(topic)]


def write(topic, path):
    n = 0
    with open(path, "w", encoding="latin-1") as file:
        for message in messages_of(topic):
            task = dict(message.headers() or []).get("twtasks-id", b"")
            fields = message.value() or b"", task, str(message.partition()).encode()
            file.write("\t".join(map(to_text, fields)) + "\n")
            n += 1
    return n


COMMANDS = {
    "brokers": brokers,
    "configure": configure,
    "create": create,
    "delete": delete,
    "grow": grow,
    "leader": leader,
    "produce": produce,
    "read": read,
    "write": write,
}


def answer(line):
    question = json.loads(line)
    command = COMMANDS[question.pop("do")]
    try:
        return {"result": command(**question)}
    except Exception as error:  # the test that asked dies of it
        return {"error": str(error)}


for line in sys.stdin:
    print(json.dumps(answer(line)), flush=True)
