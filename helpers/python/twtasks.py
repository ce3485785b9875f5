"""twtasks for Python: adds tasks in a transaction of psycopg 3 or SQLAlchemy, and runs them under twtasksd."""

import base64
import collections
import contextlib
import json
import os
import signal
import sys
import traceback
import types

_ADD = "SELECT task_id, version, result FROM twtasks.add_tasks(%s::text::jsonb)"
_handlers = {}
_collected = None  # in test mode: the tasks that were added


Added = collections.namedtuple("Added", "task_id version result", defaults=[None] * 3)  # empty in test mode


class Answer(Exception):
    """An answer of a handler that is not "done", such as Answer("retry", "the bank is closed", retry_in=60)."""

    def __init__(self, result, message="", **members):
        super().__init__(message or result)
        self.members = {"result": result, "message": message, **members}


def statement(type, data=None, **options):
    """The statement and its parameters, for a driver of your own.  Options are those of add_task()."""
    given = {"type": type, "data": data, **options}
    for name, value in given.items():
        if isinstance(value, bytes):
            given[name] = "\\x" + value.hex()
        elif hasattr(value, "utcoffset") and value.utcoffset() is None:
            raise ValueError(f"{name} needs a time zone")
        elif hasattr(value, "utcoffset"):
            given[name] = value.isoformat()
    return _ADD, (json.dumps([given], allow_nan=False),)


def add(connection, type, data=None, **options):
    """Adds a task in the transaction of a connection of psycopg or SQLAlchemy, or of a Session."""
    call = statement(type, data, **options)
    if _collected is not None:
        _collected.append(types.SimpleNamespace(type=type, data=data, **options))
        return Added()
    connection = connection.connection() if hasattr(connection, "get_bind") else connection  # a Session has one
    if hasattr(connection, "exec_driver_sql"):
        return Added(*connection.exec_driver_sql(*call).fetchone())
    from psycopg import Cursor, rows

    return Added(*Cursor(connection, row_factory=rows.tuple_row).execute(*call).fetchone())


def task(type):
    """Makes a function the handler of a type, or of a beginning and a *.  It gets the task: id, data, tries, ..."""

    def register(function):
        _handlers[type] = function
        return function

    return register


def run(task):
    """Calls the handler of a task in this process, as a test does."""
    fitting = [name for name in _handlers if name == task.type or name[-1:] == "*" and task.type.startswith(name[:-1])]
    if not fitting:
        raise LookupError(f"no handler for type {task.type}")
    _handlers[max(fitting, key=lambda name: (name == task.type, len(name)))](task)


@contextlib.contextmanager
def testing():
    """In test mode add() adds nothing: the tasks come into the list that this yields."""
    global _collected
    outer, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = outer


def _outcome(given):
    if "payload_base64" in given:
        given["payload"] = base64.b64decode(given["payload_base64"])
    try:
        run(types.SimpleNamespace(**given))
    except Answer as answer:
        return answer.members
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() too
        return dict(result="retry", message=f"{type(error).__name__}: {error!s:.999}\n{traceback.format_exc()[-3000:]}")
    return {"result": "done"}


def work(load=lambda: None):
    """Calls load(), then runs one task after the other until its input ends, or after TERM until the task has ended."""
    tasks, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # print() goes to stderr, and so to the log
    sys.stdout.reconfigure(line_buffering=True)  # while the task runs
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # so that a child reads no tasks
    load()
    is_told_to_end = []

    def answer(given, **members):
        whose = {"id": given["id"], "version": given["version"]}
        try:
            text = json.dumps({**whose, **members}, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:  # the work is done: nothing may run it again
            text = json.dumps({**whose, "result": "error", "message": f"the answer is no JSON: {error}"})
        print(text, file=replies, flush=True)

    def on_term(*_):
        is_told_to_end.append(True)
        os.set_blocking(tasks.fileno(), False)  # reads what is there, and waits for no more

    signal.signal(signal.SIGTERM, on_term)
    for line in iter(tasks.readline, b""):
        given = json.loads(line) if line.endswith(b"\n") else {}
        if "id" in given and is_told_to_end:
            answer(given, result="release", retry_in=1)
        elif "id" in given:
            answer(given, started=True)
            answer(given, **_outcome(given))
