"""Batches for the helper for Python: with the option "batch" of its worker, a handler gets a list of tasks."""

import twtasks
import twtasks_work


def batch(type):
    """Makes a function the handler of a type, as twtasks.task() does, but of a list of tasks.

    It returns the answers that are not "done", by the ids of their tasks, or None: all are done.
    """

    def register(function):
        def one(task):
            for answer in _answers_of(function, [task]).values():
                raise answer

        one.of_list = function
        twtasks.task(type)(one)
        return function

    return register


def run(type, tasks):
    """Calls the handler of this type with a list of tasks in this process, as a test does; returns its answers."""
    return _answers_of(twtasks.handler(type).of_list, tasks)


def work(load=lambda: None):
    """As twtasks.work(), with a list of tasks in each line."""
    twtasks_work.work(load, _answers_to)


def _answers_of(function, tasks):
    answers = function(tasks) or {}
    ids = {task.id for task in tasks}
    fit = isinstance(answers, dict) and all(isinstance(answers[id], twtasks.Answer) and id in ids for id in answers)
    if not fit:  # nobody knows what it has done
        raise twtasks.Answer("error", "the handler did not return answers by the ids of its tasks")
    return answers


def _whose(tasks):
    if len(tasks) == 1:
        return {"id": tasks[0].id, "version": tasks[0].version}
    return {"ids": [task.id for task in tasks], "versions": [task.version for task in tasks]}


def _outcomes(function, tasks):
    answers = {}
    members = twtasks_work.outcome(lambda: answers.update(_answers_of(function, tasks)))
    for task in tasks:
        if task.id in answers:
            yield _whose([task]), answers[task.id].members
    rest = [task for task in tasks if task.id not in answers]
    if rest:
        yield _whose(rest), members


def _answers_to(given, ends):
    tasks = [twtasks_work.made(task) for task in given.get("tasks", [given] if "id" in given else [])]
    lists = {}  # by handler; a task whose handler takes no list is alone
    if tasks and ends:
        yield _whose(tasks), {"result": "release", "retry_in": 1}
        return
    if tasks:
        yield _whose(tasks[:1]), {"started": True}  # and with it all of the line
    for task in tasks:
        handler = getattr(twtasks.handler(task.type), "of_list", None)
        lists.setdefault((handler, None if handler else task.id), []).append(task)
    for (handler, _), some in lists.items():
        if handler:
            yield from _outcomes(handler, some)
        else:
            yield _whose(some), twtasks_work.outcome(twtasks.run, some[0])
