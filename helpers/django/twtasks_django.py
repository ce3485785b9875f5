"""twtasks as a backend of Django's tasks: TASKS = {"default": {"BACKEND": "twtasks_django.Backend"}}.

enqueue() adds the task in the transaction of the caller.  "python -m twtasks_django" is the worker, whose handler
in the file of twtasksd has types: ["django|*"].  With Django before 6.0 the package django-tasks brings the framework.
"""

import uuid

import twtasks
from django.db import close_old_connections, connections, reset_queries
from django.utils.module_loading import import_string

try:
    from django.tasks import Task, TaskContext, TaskResult, TaskResultStatus
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
except ImportError:
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskResult, TaskResultStatus
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started

PREFIX = "django|"
STATE = "SELECT type, status::text, created, state_time, tries FROM twtasks.own_tasks WHERE id = %s"
STATUS = {
    "PROCESSING": TaskResultStatus.RUNNING,
    "DONE": TaskResultStatus.SUCCESSFUL,
    **dict.fromkeys(["WAITING", "SUBMITTED", "HELD"], TaskResultStatus.READY),
    **dict.fromkeys(["ERROR", "FAILED", "CANCELLED"], TaskResultStatus.FAILED),
}


class Result(TaskResult):
    __slots__ = ()

    @property
    def return_value(self):
        raise NotImplementedError("twtasks keeps no return values: store them in a table of your own")


class Backend(BaseTaskBackend):
    supports_defer = supports_get_result = supports_priority = supports_async_task = True

    def _fetch(self, sql, parameters):
        with connections[self.options.get("database", "default")].cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchone()

    def enqueue(self, task, args, kwargs):
        self.validate_task(task)
        result = self.result(task, "", TaskResultStatus.READY, args, kwargs)
        call = twtasks.statement(
            PREFIX + task.module_path,
            [result.args, result.kwargs],
            bucket=task.queue_name,
            priority=priority(task.priority),
            **({"run_after": task.run_after} if task.run_after else {}),
        )
        object.__setattr__(result, "id", str(self._fetch(*call)[0]))
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id):
        """The state of a task that this role has added; its arguments are not told."""
        try:
            row = self._fetch(STATE, [uuid.UUID(result_id)])
        except ValueError:
            row = None
        if row is None or not row[0].startswith(PREFIX):
            raise TaskResultDoesNotExist(result_id)
        task = import_string(row[0][len(PREFIX) :])
        result = self.result(task, result_id, STATUS[row[1]], [], {}, row[4], row[2])
        if result.is_finished:
            object.__setattr__(result, "finished_at", row[3])
        return result

    def result(self, task, id, status, args, kwargs, tries=0, enqueued_at=None):
        times = dict.fromkeys(["started_at", "last_attempted_at", "finished_at"])
        return Result(
            task=task, id=id, status=status, args=args, kwargs=kwargs, enqueued_at=enqueued_at, **times,
            backend=self.alias, errors=[], worker_ids=["twtasksd"] * tries,
        )  # fmt: skip


def priority(of_django):
    """-100 to 100, the most urgent last, becomes 9 to 0."""
    return min(9, max(0, round(5 - of_django / 20)))


@twtasks.task(PREFIX + "*")
def run(given):
    task = import_string(given.type[len(PREFIX) :])
    if not isinstance(task, Task) or task.module_path != given.type[len(PREFIX) :]:
        raise twtasks.Answer("error", f"{given.type} is not the name of a task")
    backend = task.get_backend()
    args, kwargs = given.data
    result = backend.result(task, given.id, TaskResultStatus.RUNNING, args, kwargs, given.tries)
    close_old_connections()
    reset_queries()
    task_started.send(type(backend), task_result=result)
    status = TaskResultStatus.FAILED
    try:
        task.call(*([TaskContext(task_result=result)] if task.takes_context else []), *args, **kwargs)
        status = TaskResultStatus.SUCCESSFUL
    finally:
        object.__setattr__(result, "status", status)
        task_finished.send(type(backend), task_result=result)
        close_old_connections()


if __name__ == "__main__":
    import django

    twtasks.work(django.setup)
