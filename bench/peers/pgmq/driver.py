"""Driver of PGMQ: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import common
from common import CONCURRENCY, KINDS, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started
from pgmq import get_embedded_install_sql
from pgmq.async_queue import PGMQueue

logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

ALL = ["noop", "slow", "sql", "chain", "idle"]
# How many messages a reader takes at once. Messages of handlers that wait for the
# database are read in smaller batches, whose handlers run together.
QUANTITY = {"noop": CONCURRENCY or 2000, "sql": 20, "chain": 20} if SETTING != "default" else {}
POLL = {"poll_interval_ms": 10} if SETTING != "default" else {}
Handler = Callable[[PGMQueue, dict[str, Any]], Awaitable[None]]


async def noop(_queue: PGMQueue, data: dict[str, Any]) -> None:
    started("noop", data)
    ended()


async def slow(_queue: PGMQueue, data: dict[str, Any]) -> None:
    started("slow", data)
    await asyncio.sleep(SLOW_SECONDS)
    ended()


async def sql(queue: PGMQueue, data: dict[str, Any]) -> None:
    started("sql", data)
    await queue.pool.execute(common.COUNT_ONE + "$1", data["i"] % 1000)
    ended()


async def chain(queue: PGMQueue, data: dict[str, Any]) -> None:
    started("chain", data)
    if data["left"] > 0:
        await queue.send("chain", data | {"left": data["left"] - 1})
    ended()


HANDLERS: dict[str, Handler] = {"noop": noop, "slow": slow, "sql": sql, "chain": chain}


async def finish(queue: PGMQueue, kind: str, ids: list[int]) -> None:
    if SETTING == "archive":
        await queue.archive_batch(kind, ids)
    else:
        await queue.delete_batch(kind, ids)


async def read(queue: PGMQueue, kind: str) -> None:
    """Handles and finishes the messages of a queue, batch by batch."""
    quantity = QUANTITY.get(kind, 1)
    while True:
        found = await queue.read_with_poll(kind, qty=quantity, **POLL)
        messages = found if isinstance(found, list) else [found] if found else []
        if kind == "noop":
            for message in messages:
                await noop(queue, message.message)
        else:
            await asyncio.gather(*(HANDLERS[kind](queue, message.message) for message in messages))
        if messages:
            await finish(queue, kind, [message.msg_id for message in messages])


@contextlib.asynccontextmanager
async def client(connections: int) -> AsyncIterator[PGMQueue]:
    """With a pool of ours, since its own cannot reach a server by its socket."""
    async with asyncpg.create_pool(min_size=1, max_size=connections) as pool:
        queue = PGMQueue(pool=pool, init_extension=False)
        await queue.init()
        yield queue


async def serve(ready: Callable[[], None]) -> None:
    """A queue for each kind, with as many readers as it may have tasks at once."""
    async with client(50) as queue:
        readers = [read(queue, kind) for kind in KINDS
                   for _ in range(SLOW_LIMIT if kind == "slow" else 1)]
        ready()
        await asyncio.gather(*readers)


class Adder:
    """One statement for one message, or for a list of them."""

    def __init__(self, queue: PGMQueue) -> None:
        self.queue = queue

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await self.queue.send(kind, data)

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        delay = int(later.total_seconds()) if later else None
        await self.queue.send_batch(kind, data, delay=delay)


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    async with client(clients) as queue:
        yield Adder(queue)


async def prepare() -> None:
    """By the script in its package: the extension is in none of the registries."""
    connection = await asyncpg.connect()
    await connection.execute(get_embedded_install_sql())
    for kind in ALL:
        await connection.execute("SELECT pgmq.create($1)", kind)
    await connection.execute(common.COUNTER)
    await connection.close()


common.main(common.Peer(importlib.metadata.version("pgmq"), prepare, producer, serve))
