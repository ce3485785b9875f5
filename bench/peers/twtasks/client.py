"""Adds tasks through psycopg: see ../README.md for what the commands mean."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Callable
from typing import Any

import common
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool


class Adder:
    """One statement for one task, or for a list of them."""

    def __init__(self, pool: AsyncConnectionPool) -> None:
        self.pool = pool

    async def add(self, kind: str, data: dict[str, Any]) -> None:
        async with self.pool.connection() as connection:
            await connection.execute("SELECT twtasks.add_task(%s, %s)", (kind, Jsonb(data)))

    async def add_many(self, kind: str, data: list[dict[str, Any]],
                       later: datetime.timedelta | None) -> None:
        when = (datetime.datetime.now(datetime.UTC) + later).isoformat() if later else None
        tasks = [{"type": kind, "data": each, "run_after": when} for each in data]
        async with self.pool.connection() as connection:
            await connection.execute("SELECT count(*) FROM twtasks.add_tasks(%s)", (Jsonb(tasks),))


@contextlib.asynccontextmanager
async def producer(clients: int) -> AsyncIterator[Adder]:
    # Without autocommit each statement would be three round trips.
    async with AsyncConnectionPool("", min_size=clients, max_size=clients,
                                   kwargs={"autocommit": True}) as pool:
        yield Adder(pool)


async def nothing() -> None:
    """The driver of twtasks does this itself."""


async def serve(_ready: Callable[[], None]) -> None:
    await asyncio.Event().wait()


common.main(common.Peer("", nothing, producer, serve))
