"""twtasks for Python: adds tasks in a transaction of psycopg 3 or SQLAlchemy, and runs them under twtasksd."""

import collections
import contextlib
import json
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


def handler(type):
    """The handler of a type: the one of the longest name that fits, or None."""
    fitting = [name for name in _handlers if name == type or name[-1:] == "*" and type.startswith(name[:-1])]
    return _handlers.get(max(fitting, key=lambda name: (name == type, len(name)), default=None))


def run(task):
    """Calls the handler of a task in this process, as a test does."""
    function = handler(task.type)
    if function is None:
        raise LookupError(f"no handler for type {task.type}")
    function(task)


@contextlib.contextmanager
def testing():
    """In test mode add() adds nothing: the tasks come into the list that this yields."""
    global _collected
    outer, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = outer


def work(load=lambda: None):
    """Calls load(), then runs one task after the other until its input ends, or after TERM until the task has ended."""
    import twtasks_work  # it imports this module

    twtasks_work.work(load)
