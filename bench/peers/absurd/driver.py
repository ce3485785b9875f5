"""Driver of Absurd: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
import importlib.metadata
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import absurdctl
import common
from absurd_sdk import AsyncAbsurd
from common import CONCURRENCY, KINDS, SETTING, SLOW_LIMIT, SLOW_SECONDS, ended, started
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

QUEUES = ["default", "slow"]
# As its client does for one task.
SPAWN = "SELECT absurd.spawn_task(%s, %s, data, '{\"max_attempts\": 5}') FROM unnest(%s::jsonb[]) data"
OPTIONS: dict[str, Any] = {}
if SETTING == "best":
    OPTIONS = {"concurrency": CONCURRENCY or 100, "poll_interval": 0.01}


def pool_of(connections: int) -> AsyncConnectionPool:
    return AsyncConnectionPool(min_size=connections, max_size=connections, open=False,
                               kwargs={"autocommit": True})


def queue_of(kind: str) -> str:
    return "slow" if kind == "slow" else "default"


def register(app: AsyncAbsurd, pool: AsyncConnectionPool) -> None:
    @app.register_task(name="noop")
    async def noop(data: dict[str, Any], _context: object) -> None:
        started("noop", data)
        ended()

    @app.register_task(name="slow")
    async def slow(data: dict[str, Any], _context: object) -> None:
        started("slow", data)
        await asyncio.sleep(SLOW_SECONDS)
        ended()

    @app.register_task(name="sql")
    async def sql(data: dict[str, Any], _context: object) -> None:
        started("sql", data)
        async with pool.connection() as connection:
            await connection.execute(common.COUNT_ONE + "%s", [data["i"] % 1000])
        ended()

    @app.register_task(name="chain")
    async def chain(data: dict[str, Any], _context: object) -> None:
        started("chain", data)
        if data["left"] > 0:
            await app.spawn("chain", data | {"left": data["left"] - 1})
        ended()


async def connect() -> AsyncConnection[Any]:
    return await AsyncConnection.connect(autocommit=True)


async def serve(ready: Callable[[], None]) -> None:
    """It has no limit per kind: slow tasks have a queue and a worker of their own."""
    async with pool_of(10) as pool:
        apps = {queue: AsyncAbsurd(await connect(), queue_name=queue) for queue in QUEUES}
        for app in apps.values():
            register(app, pool)
        workers = [apps["default"].start_worker(**OPTIONS)]
        if "slow" in KINDS:
            workers.append(apps["slow"].start_worker(**OPTIONS | {"concurrency": SLOW_LIMIT}))
        ready()
        await asyncio.gather(*workers)


class Adder:
    """It has no call for many: its function runs for each row of one statement."""

    def __init__(self, pool: AsyncConnectionPool) -> None:
        self.pool = pool

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        async with self.pool.connection() as connection:
            await AsyncAbsurd(connection).spawn(kind, data, queue=queue_of(kind))

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        if later:
            sys.exit("no tasks that are due later")
        async with self.pool.connection() as connection:
            await connection.execute(SPAWN, [queue_of(kind), kind, [Jsonb(each) for each in data]])


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    async with pool_of(clients) as pool:
        yield Adder(pool)


async def prepare() -> None:
    """The command's package has the schema; the command itself would need psql."""
    connection = await connect()
    await connection.execute(absurdctl.BUNDLED_SCHEMA_SQL)
    for queue in QUEUES:
        await AsyncAbsurd(connection, queue_name=queue).create_queue()
    await connection.execute(common.COUNTER)
    await connection.close()


common.main(common.Peer(importlib.metadata.version("absurd-sdk"), prepare, producer, serve))
