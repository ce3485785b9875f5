#!/usr/bin/env python3
"""Writes tables of TwTasks, the original in Java, as SQL for psql: so many tasks of
all statuses and formats, and a table "expected" with what each of them carries."""

import datetime
import gzip
import json
import random
import struct
import sys
import uuid

import lz4.block
import xxhash
import zstandard

STATUSES = ["NEW", "WAITING", "SUBMITTED", "PROCESSING", "DONE", "ERROR", "FAILED", "CANCELLED"]
NO_DATA = b"\xc2\xae"

TABLES = """
CREATE TABLE tw_task (
    id uuid PRIMARY KEY, type text NOT NULL, sub_type text, status text NOT NULL, data text NOT NULL,
    next_event_time timestamptz(6) NOT NULL, state_time timestamptz(3) NOT NULL,
    processing_client_id text, processing_start_time timestamptz(3),
    time_created timestamptz(3) NOT NULL, time_updated timestamptz(3) NOT NULL,
    processing_tries_count bigint NOT NULL, version bigint NOT NULL, priority int NOT NULL DEFAULT 5);
CREATE INDEX tw_task_idx1 ON tw_task (status, next_event_time);
CREATE TABLE tw_task_data (
    task_id uuid PRIMARY KEY NOT NULL, data_format int NOT NULL, data bytea NOT NULL,
    task_context_format smallint, task_context bytea);
ALTER TABLE tw_task_data SET (toast_tuple_target = 8160);
ALTER TABLE tw_task_data ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE unique_tw_task_key (
    task_id uuid PRIMARY KEY NOT NULL, key_hash int NOT NULL, key text NOT NULL, UNIQUE (key_hash, key));
CREATE TABLE expected (id uuid PRIMARY KEY, payload bytea, context jsonb);
"""


def block_stream(data, size=65536):
    """As lz4-java writes it; test_unpack.c has streams that it has written."""
    stream = b""
    level = max(0, (size - 1).bit_length() - 10)
    for start in range(0, len(data), size):
        part = data[start:start + size]
        packed = lz4.block.compress(part, store_size=False)
        method = 0x20
        if len(packed) >= len(part):
            packed, method = part, 0x10
        check = xxhash.xxh32(part, seed=0x9747B28C).intdigest() & 0xFFFFFFF
        stream += b"LZ4Block" + struct.pack("<BIII", method | level, len(packed), len(part), check) + packed
    return stream + b"LZ4Block" + struct.pack("<BIII", 0x10 | level, 0, 0, 0)


PACKERS = [lambda data: data, lambda data: gzip.compress(data, mtime=0), block_stream,
           lambda data: zstandard.ZstdCompressor().compress(data)]


def key_hash(key):
    units = key.encode("utf-16-be")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[i:i + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def some_data(number, chance):
    kind = number % 7
    if kind == 0:
        return None
    if kind == 1:
        return b""
    if kind == 2 and number % 500 == 2:
        return chance.randbytes(150000) + b"x" * 100000
    if kind == 3:
        return chance.randbytes(300)
    return json.dumps({"number": number, "text": "na\u00efve \u20ac " * (number % 50)}).encode()


def some_context(number):
    return [None, {}, {"request": "r-%d" % number, "depth": {"a": [1, 2.50]}}][number // 7 % 3]


def packed_row(number, data, context):
    """The row of tw_task_data, or None."""
    if data is None and context is None:
        return None
    pack = PACKERS[number % 4]
    # a data row without a context has the literal null
    envelope = b"null" if context is None else json.dumps({"contextMap": context}).encode()
    stored = NO_DATA if data is None else pack(data)
    return [number % 4 if data is not None else 0, stored, number // 4 % 4, PACKERS[number // 4 % 4](envelope)]


def field(value):
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    text = str(value)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def put(name, rows):
    print("COPY %s FROM stdin;" % name)
    for row in rows:
        print("\t".join(field(value) for value in row))
    print("\\.")


def main(count, seed):
    chance = random.Random(seed)
    now = datetime.datetime.now(datetime.timezone.utc)
    tasks, datas, keys, expected = [], [], [], []
    for number in range(count):
        task = uuid.UUID(int=chance.getrandbits(128))
        status = STATUSES[number % 8]
        created = now - datetime.timedelta(days=45, seconds=number)
        # half of the ended ones ended lately
        changed = now - datetime.timedelta(days=number // 8 % 50, seconds=number)
        data, context = some_data(number, chance), some_context(number)
        old = ""
        row = packed_row(number, data, context)
        if row is None and number % 2 == 0:
            old = "old \u20ac %d" % number
            data = old.encode()
        if row is not None:
            datas.append([task] + row)
        if number % 3 == 0:
            key = "key \u20ac %d" % number
            keys.append([task, key_hash(key), key])
        tasks.append([task, "TYPE_%d|a.b" % (number % 5), None if number % 4 else "sub %d" % number, status, old,
                      (now + datetime.timedelta(days=20, microseconds=number)).isoformat(),
                      changed.isoformat(timespec="milliseconds"),
                      None if number % 8 < 3 else "node%d" % (number % 3), None,
                      created.isoformat(timespec="milliseconds"), changed.isoformat(timespec="milliseconds"),
                      number % 9, number % 11, number % 12])
        expected.append([task, data, None if context is None else json.dumps(context)])
    print(TABLES)
    put("tw_task", tasks)
    put("tw_task_data", datas)
    put("unique_tw_task_key", keys)
    put("expected", expected)


main(int(sys.argv[1]), sys.argv[2])
