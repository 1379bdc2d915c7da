"""Which module says what a training does for a task."""


def steps_of(task):
    """The module of a task, imported when it is first needed."""
    match task.name:
        case "one_class":
            from . import one_class as steps
        case "positive_unlabelled":
            from . import positive_unlabelled as steps
        case _:
            from . import semi_supervised as steps
    return steps
