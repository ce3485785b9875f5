"""Driver of Oban for Python: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import common
from common import CONCURRENCY, KINDS, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started
from oban import Job, Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

# The limit of a queue, which is also how many jobs a fetch takes at most. The default is its own.
LIMIT = CONCURRENCY or (100 if SETTING == "best" else 10)


def connections(least: int, most: int) -> AsyncConnectionPool:
    return AsyncConnectionPool(min_size=least, max_size=most, open=False)


pool = connections(4, 20)


@worker()
class Noop:
    async def process(self, job: Job) -> None:
        started("noop", job.args)
        ended()


@worker(queue="slow")
class Slow:
    async def process(self, job: Job) -> None:
        started("slow", job.args)
        await asyncio.sleep(SLOW_SECONDS)
        ended()


@worker(queue="idle")
class Idle:
    async def process(self, job: Job) -> None:
        """Only ever waits."""


@worker()
class Sql:
    async def process(self, job: Job) -> None:
        started("sql", job.args)
        async with pool.connection() as connection:
            await connection.execute(common.COUNT_ONE + "%s", [job.args["i"] % 1000])
        ended()


@worker()
class Chain:
    async def process(self, job: Job) -> None:
        started("chain", job.args)
        if job.args["left"] > 0:
            await Chain.enqueue(job.args | {"left": job.args["left"] - 1})
        ended()


WORKERS = {"noop": Noop, "slow": Slow, "idle": Idle, "sql": Sql, "chain": Chain}


async def serve(ready: Callable[[], None]) -> None:
    queues = {"default": LIMIT}
    if "slow" in KINDS:
        queues["slow"] = SLOW_LIMIT
    async with pool, Oban(pool=pool, queues=queues):
        ready()
        await asyncio.Event().wait()


class Adder:
    """Its call for many sends a statement for each, in one transaction."""

    def __init__(self, oban: Oban) -> None:
        self.oban = oban

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        await self.oban.enqueue(WORKERS[kind].new(data))

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        when = {"schedule_in": later} if later else {}
        await self.oban.enqueue_many(WORKERS[kind].new(each, **when) for each in data)


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    async with connections(clients, clients) as own:
        yield Adder(Oban(pool=own))


async def prepare() -> None:
    async with connections(1, 1) as own:
        await install(own)
        async with own.connection() as connection:
            for statement in common.COUNTER.split(";"):
                await connection.execute(statement)


common.main(common.Peer(importlib.metadata.version("oban"), prepare, producer, serve))
