"""Driver of PgQueuer: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import common
from common import CONCURRENCY, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started
from pgqueuer import AsyncpgDriver, AsyncpgPoolDriver, Job, PgQueuer, Queries

logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

# What its own benchmark takes; the rest are its defaults.
BATCH = {"batch_size": 500} if SETTING == "best" else {}
if CONCURRENCY:
    BATCH = {"batch_size": max(1, CONCURRENCY // 2), "max_concurrent_tasks": CONCURRENCY}


def data_of(job: Job) -> dict[str, Any]:
    return json.loads(job.payload or b"{}")


async def serve(ready: Callable[[], None]) -> None:
    """A limit per kind is its own option."""
    async with asyncpg.create_pool(min_size=2, max_size=20) as pool:
        queuer = PgQueuer(AsyncpgPoolDriver(pool))

        @queuer.entrypoint("noop")
        async def noop(job: Job) -> None:
            started("noop", data_of(job))
            ended()

        @queuer.entrypoint("slow", concurrency_limit=SLOW_LIMIT)
        async def slow(job: Job) -> None:
            started("slow", data_of(job))
            await asyncio.sleep(SLOW_SECONDS)
            ended()

        @queuer.entrypoint("sql")
        async def sql(job: Job) -> None:
            data = data_of(job)
            started("sql", data)
            await pool.execute(common.COUNT_ONE + "$1", data["i"] % 1000)
            ended()

        ready()
        await queuer.run(**BATCH)


class Adder:
    """One statement for one job, or for a list of them."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await self.queries.enqueue(kind, json.dumps(data, separators=(",", ":")).encode())

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        count = len(data)
        await self.queries.enqueue(
            [kind] * count, [json.dumps(d, separators=(",", ":")).encode() for d in data],
            [0] * count, [later] * count)


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    async with asyncpg.create_pool(min_size=clients, max_size=clients) as pool:
        yield Adder(Queries(AsyncpgPoolDriver(pool)))


async def prepare() -> None:
    connection = await asyncpg.connect()
    await Queries(AsyncpgDriver(connection)).install()
    await connection.execute(common.COUNTER)
    await connection.close()


common.main(common.Peer(importlib.metadata.version("pgqueuer"), prepare, producer, serve))
