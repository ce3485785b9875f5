"""Driver of PgQueuer: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import common
from common import CONCURRENCY, KINDS, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started
from pgqueuer import AsyncpgDriver, AsyncpgPoolDriver, Job, PgQueuer, Queries

logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

# The fastest of 10 to 2,000 here; its own benchmark takes 10, its manual
# recommends more for short jobs.
BATCH = {"batch_size": 500} if SETTING == "best" else {}
# Handlers that wait for the database are faster when few of them run.
if SETTING == "best" and {"sql", "chain"} & set(KINDS):
    BATCH = {"batch_size": 20, "max_concurrent_tasks": 40}
if CONCURRENCY:
    BATCH = {"batch_size": max(1, CONCURRENCY // 2), "max_concurrent_tasks": CONCURRENCY}


def data_of(job: Job) -> dict[str, Any]:
    return json.loads(job.payload or b"{}")


def handlers(queries: Queries, pool: asyncpg.Pool) -> dict[str, Callable[[Job], Awaitable[None]]]:
    async def noop(job: Job) -> None:
        started("noop", data_of(job))
        ended()

    async def slow(job: Job) -> None:
        started("slow", data_of(job))
        await asyncio.sleep(SLOW_SECONDS)
        ended()

    async def sql(job: Job) -> None:
        data = data_of(job)
        started("sql", data)
        await pool.execute(common.COUNT_ONE + "$1", data["i"] % 1000)
        ended()

    async def chain(job: Job) -> None:
        data = data_of(job)
        started("chain", data)
        if data["left"] > 0:
            await queries.enqueue("chain", packed(data | {"left": data["left"] - 1}))
        ended()

    return {"noop": noop, "slow": slow, "sql": sql, "chain": chain}


async def serve(ready: Callable[[], None]) -> None:
    """One connection for the worker and a pool for its handlers, as the manual
    says.  A limit per kind is its own option; one limit makes all fetches slower."""
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect()))
    async with asyncpg.create_pool(min_size=2, max_size=20) as pool:
        run = handlers(Queries(AsyncpgPoolDriver(pool)), pool)
        for kind in KINDS:
            limit = SLOW_LIMIT if kind == "slow" else 0
            queuer.entrypoint(kind, concurrency_limit=limit)(run[kind])
        ready()
        await queuer.run(**BATCH)


def packed(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


class Adder:
    """One statement for one job, or for a list of them."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await self.queries.enqueue(kind, packed(data))

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        count = len(data)
        await self.queries.enqueue(
            [kind] * count, [packed(d) for d in data],
            [0] * count, [later] * count)


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    async with asyncpg.create_pool(min_size=clients, max_size=clients) as pool:
        yield Adder(Queries(AsyncpgPoolDriver(pool)))


async def prepare() -> None:
    connection = await asyncpg.connect()
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    if SETTING == "best":
        await queries.optimize_autovacuum()
    await connection.execute(common.COUNTER)
    await connection.close()


common.main(common.Peer(importlib.metadata.version("pgqueuer"), prepare, producer, serve))
