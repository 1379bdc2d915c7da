"""The module that says what a training does for a task."""

from types import ModuleType

from ...base.task import Task


def steps_of(task: Task) -> ModuleType:
    """The module of a task, imported when it is first needed."""
    if task.name == "one_class":
        from . import one_class

        return one_class
    if task.name == "positive_unlabelled":
        from . import positive_unlabelled

        return positive_unlabelled
    from . import semi_supervised

    return semi_supervised
