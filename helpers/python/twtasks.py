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
_batches = set()  # types whose handlers get lists of tasks
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


def batch(type):
    """The same for a list of tasks.  The handler returns the answers that are not "done": {task.id: Answer(...)}."""

    def register(function):
        _batches.add(type)
        return task(type)(function)

    return register


def _name(type):
    fitting = [name for name in _handlers if name == type or name[-1:] == "*" and type.startswith(name[:-1])]
    return max(fitting, key=lambda name: (name == type, len(name)), default=None)


def run(task):
    """Calls the handler of a task in this process, as a test does."""
    name = _name(task.type)
    if name is None:
        raise LookupError(f"no handler for type {task.type}")
    if name in _batches:
        run_batch(name, [task])
    else:
        _handlers[name](task)


def run_batch(type, tasks):
    """Calls the handler of batches, registered for this type; returns its answers by id."""
    answers = _handlers[type](tasks) or {}
    ids = {task.id for task in tasks}
    if not isinstance(answers, dict) or not all(id in ids and isinstance(answers[id], Answer) for id in answers):
        raise Answer("error", "the handler did not return answers by the ids of its tasks")
    return answers


@contextlib.contextmanager
def testing():
    """In test mode add() adds nothing: the tasks come into the list that this yields."""
    global _collected
    outer, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = outer


def _members(call, *arguments):
    """Returns the value of a call, and the members of the answer to its tasks."""
    try:
        return call(*arguments), {"result": "done"}
    except Answer as answer:
        return None, answer.members
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() too
        text = f"{type(error).__name__}: {error!s:.999}\n{traceback.format_exc()[-3000:]}"
        return None, {"result": "retry", "message": text}


def _outcomes(line):
    """Runs the tasks of a line.  Yields lists of tasks, each with the members of their answer."""
    groups = {}
    for given in line:
        if "payload_base64" in given:
            given["payload"] = base64.b64decode(given["payload_base64"])
        name = _name(given["type"])
        one = given["id"], given["version"]
        groups.setdefault(name if name in _batches else one, []).append(types.SimpleNamespace(**given))
    for name, tasks in groups.items():
        if name not in _batches:
            yield tasks, _members(run, tasks[0])[1]
            continue
        answers, members = _members(run_batch, name, tasks)
        for id, answer in (answers or {}).items():
            yield [task for task in tasks if task.id == id], answer.members
        yield [task for task in tasks if task.id not in (answers or {})], members


def work(load=lambda: None):
    """Calls load(), then runs one task or batch after the other until its input ends, or after TERM until it has ended."""
    source, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # print() goes to stderr, and so to the log
    sys.stdout.reconfigure(line_buffering=True)  # while the task runs
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # so that a child reads no tasks
    load()
    is_told_to_end = []

    def answer(tasks, **members):
        whose = {"ids": [task.id for task in tasks], "versions": [task.version for task in tasks]}
        if len(tasks) == 1:
            whose = {"id": tasks[0].id, "version": tasks[0].version}
        try:
            text = json.dumps({**whose, **members}, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:  # the work is done: nothing may run it again
            text = json.dumps({**whose, "result": "error", "message": f"the answer is no JSON: {error}"})
        print(text, file=replies, flush=True)

    def on_term(*_):
        is_told_to_end.append(True)
        os.set_blocking(source.fileno(), False)  # reads what is there, and waits for no more

    signal.signal(signal.SIGTERM, on_term)
    for line in iter(source.readline, b""):
        given = json.loads(line) if line.endswith(b"\n") else {}
        batch = given.get("tasks") or ([given] if "id" in given else [])
        if batch and is_told_to_end:
            answer([types.SimpleNamespace(**task) for task in batch], result="release", retry_in=1)
        elif batch:
            answer([types.SimpleNamespace(**batch[0])], started=True)  # and with it the whole batch
            for tasks, members in _outcomes(batch):
                answer(tasks, **members)
