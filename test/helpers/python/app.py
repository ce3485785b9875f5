"""An application with the helper for Python: TwTasks/Helper.pm says what it is told."""

import contextlib
import os
import subprocess
import sys
from datetime import datetime, timezone

import psycopg
import twtasks

URL = os.environ["DATABASE_URL"]
if sys.argv[1] != "psycopg":  # takes longer than the rest of a call
    import sqlalchemy
    import sqlalchemy.orm


def psycopg_transaction():
    return psycopg.connect(URL, row_factory=psycopg.rows.dict_row)


def engine():
    return sqlalchemy.create_engine(URL.replace("postgres://", "postgresql+psycopg://"))


def connection_transaction():
    return engine().begin()


@contextlib.contextmanager
def session_transaction():
    with sqlalchemy.orm.Session(engine()) as session, session.begin():
        yield session


def insert(connection, name):
    if isinstance(connection, psycopg.Connection):
        connection.execute("INSERT INTO orders VALUES (%s)", [name])
    else:
        connection.execute(sqlalchemy.text("INSERT INTO orders VALUES (:name)"), {"name": name})


def order(connection, name, **options):
    insert(connection, name)
    return twtasks.add(connection, "DELIVER", None if "payload" in options else {"name": name}, **options)


@twtasks.task("DELIVER")
def deliver(task):
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("INSERT INTO deliveries VALUES (%s, %s, %s)", [task.data["name"], task.tries, os.getpid()])
        connection.execute("SELECT pg_advisory_xact_lock_shared(1)")
    if task.data["name"].startswith("fail") and task.tries == 1:
        raise (SystemExit if task.data["name"] == "fail and quit" else ValueError)("no van")
    if task.data["name"] == "child":
        assert subprocess.check_output(["readlink", "/proc/self/fd/0"]) == b"/dev/null\n"
    if task.data["name"] == "noise":
        print("noise of a handler")
        subprocess.run(["echo", "noise of a child"], check=True)
    if task.data["name"] == "odd":
        raise twtasks.Answer("retry", context={"at": datetime.now()})


def main(way, word, *names):
    if word == "work":
        twtasks.work(lambda: print("noise of a start"))
    for name in names:
        with contextlib.suppress(ZeroDivisionError), globals()[f"{way}_transaction"]() as connection:
            if word == "add":
                assert order(connection, name).result == "added"
            elif word == "options":
                later = datetime(2100, 1, 1, tzinfo=timezone.utc)
                order(connection, name, key=name, priority=2, run_after=later, payload=name.encode())
            elif word == "rollback":
                order(connection, name)
                1 / 0
            elif word == "test":
                with twtasks.testing() as added:
                    order(connection, name)
                assert [task.data for task in added] == [{"name": name}]
                added[0].tries = 2
                twtasks.run(added[0])


main(*sys.argv[1:])
