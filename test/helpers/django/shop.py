"""The tasks of the application that tests helpers/django."""

import os
import subprocess

from django.db import connection

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task


def execute(sql, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


@task(takes_context=True)
def deliver(context, name, *, note=None):
    assert note is None or note == [1, {"a": "b"}]
    execute("INSERT INTO deliveries VALUES (%s, %s, %s)", name, context.attempt, os.getpid())
    execute("SELECT pg_advisory_xact_lock_shared(1)")
    if name == "noise":
        print("noise of a handler")
        subprocess.run(["echo", "noise of a child"], check=True)
    if name.startswith("fail") and context.attempt == 1:
        raise ValueError("no van")


@task
async def ride(name):
    """Is asynchronous, and has no context."""
    from asgiref.sync import sync_to_async

    await sync_to_async(execute)("INSERT INTO deliveries VALUES (%s, 1, %s)", name, os.getpid())
