"""An application with the helper for Django: TwTasks/Helper.pm says what it is told.

More words: "ride NAME..." adds asynchronous tasks, "result ID" says what get_result() tells,
"framework" says which module brings tasks, and to which Python.
"""

import contextlib
import os
import runpy
import sys
from datetime import datetime, timezone

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "shop_settings"
if sys.argv[1] == "test":
    framework = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
    os.environ["SHOP_TASKS"] = f"{framework}.backends.immediate.ImmediateBackend"


def order(task, name, **options):
    shop.execute("INSERT INTO orders VALUES (%s)", name)
    return task.enqueue(name, **options)


def tell(id):
    try:
        result = shop.deliver.get_result(id)
        print(result.status, result.attempts, end=" ")
        print(result.return_value)
    except Exception as error:
        print(type(error).__name__)


def main(word, *names):
    global shop
    import shop
    from django.db import transaction

    if word == "framework":
        print("Python 3.%d: %s" % (sys.version_info.minor, shop.task.__module__))
    for name in names:
        with contextlib.suppress(ZeroDivisionError), transaction.atomic():
            if word == "result":
                tell(name)
            elif word == "add":
                assert order(shop.deliver, name, note=(1, {"a": "b"})).status == "READY"
            elif word == "options":
                order(shop.deliver.using(priority=60, run_after=datetime(2100, 1, 1, tzinfo=timezone.utc)), name)
            elif word == "rollback":
                order(shop.deliver, name)
                1 / 0
            elif word == "test":
                assert order(shop.deliver, name).status == "SUCCESSFUL"
            elif word == "ride":
                order(shop.ride, name)


if sys.argv[1] == "work":
    runpy.run_module("twtasks_django", run_name="__main__")
else:
    django.setup()
    main(*sys.argv[1:])
