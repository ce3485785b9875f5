"""Driver of PgQ, the upper bound: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import common
from common import ended, started

TICK_SECONDS = 0.002

PREPARE = """CREATE EXTENSION pgq;
SELECT pgq.create_queue('bench');
SELECT pgq.set_queue_config('bench', 'ticker_max_count', '2000');
SELECT pgq.set_queue_config('bench', 'ticker_max_lag', '5 milliseconds');
SELECT pgq.set_queue_config('bench', 'ticker_idle_period', '5 milliseconds');
SELECT pgq.register_consumer('bench', 'worker');
"""


async def tick() -> None:
    """As its daemon does."""
    connection = await asyncpg.connect()
    while True:
        await connection.execute("SELECT pgq.ticker('bench')")
        await asyncio.sleep(TICK_SECONDS)


async def consume() -> None:
    connection = await asyncpg.connect()
    while True:
        batch = await connection.fetchval("SELECT pgq.next_batch('bench', 'worker')")
        if batch is None:
            await asyncio.sleep(TICK_SECONDS)
            continue
        events = await connection.fetch(
            "SELECT ev_type, ev_data FROM pgq.get_batch_events($1)", batch)
        for event in events:
            started(event["ev_type"], json.loads(event["ev_data"]))
            ended()
        await connection.execute("SELECT pgq.finish_batch($1)", batch)


async def serve(ready: Callable[[], None]) -> None:
    ready()
    await asyncio.gather(tick(), consume())


def packed(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"))


class Adder:
    """A statement for one event; many are added by one, and ticked as they come."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await self.pool.execute("SELECT pgq.insert_event('bench', $1, $2)", kind, packed(data))

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       _later: datetime.timedelta | None) -> None:
        await self.pool.execute("SELECT pgq.insert_event('bench', $1, d) FROM unnest($2::text[]) d",
                                kind, [packed(d) for d in data])
        await self.pool.execute("SELECT pgq.ticker('bench')")


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    async with asyncpg.create_pool(min_size=clients, max_size=clients) as pool:
        yield Adder(pool)


async def prepare() -> None:
    connection = await asyncpg.connect()
    await connection.execute(PREPARE)
    await connection.execute(common.COUNTER)
    await connection.close()


def version() -> str:
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "postgresql-15-pgq3"],
                          stdout=subprocess.PIPE, text=True, check=False)
    return said.stdout.strip()


common.main(common.Peer(version(), prepare, producer, serve))
