"""The files that a training leaves: the model and its report."""

from pathlib import Path

from ...io.errors import Interrupted, UserError
from ...io.models.files import is_model
from ...io.paths import check_output
from ..wording import listening


def write_report_of(path, model, **parts):
    """Write the report of a model that is saved already; gives what the user should know.

    The parts are what :func:`fewlabels.report.collect` asks for.
    """
    from ...report import collect, write_report

    try:
        with listening() as messages:
            write_report(path, collect(model_path=model, **parts))
    except KeyboardInterrupt:
        raise Interrupted(f"{model} is written, but not its report.") from None
    return messages


def check_model_output(model, force, inputs):
    """Refuse a model file that cannot be written, or that would replace another file."""
    check_output(model, inputs=inputs)
    if Path(model).exists() and not (force or is_model(model)):
        raise UserError(
            f"{model} exists and is not a fewlabels model; choose another name, or pass --force "
            "to replace it."
        )


def check_report_output(path, force, inputs):
    """Refuse a report that cannot be written, or that would replace another file."""
    from ...report import is_report

    check_output(path, inputs=inputs)
    if Path(path).exists() and not (force or is_report(path)):
        raise UserError(
            f"{path} exists and is not a report of fewlabels; name another file with --report, "
            "pass --no-report, or --force to replace it."
        )
