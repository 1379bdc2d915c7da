"""From a model and more rows to an updated model."""

from __future__ import annotations

import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

from ..io.errors import UserError
from .errors import Interrupted
from .fitting import spoken
from .more_rows import MoreRows
from .parameters import as_options
from .results import figures_of
from .train import check_model_output

# What says how a model was fitted, and is left as it is by rows that are added.
_OF_THE_FIT = ("rounds", "iterations")


def update_model(
    model,
    data,
    output,
    *,
    target=None,
    no_labels=False,
    skip_missing=False,
    block=1,
    consolidate=False,
    probability=True,
    force=False,
    callback=None,
    chunk_rows=None,
):
    """Add the rows of a file to a model that holds its own, and save it.

    Parameters
    ----------
    model, output : path-like
        Model to read and to write; may be the same.
    data : path-like or None
        Rows to add; None for none.
    target : str, optional
        Column with their labels; else the model's, where the file has it.
    no_labels : bool
        Whether all rows are unlabelled whatever the file says.
    skip_missing : bool
        Leave out rows with missing numbers instead of refusing them.
    block : int
        Rows added at a time.
    consolidate : bool
        Whether to look for a better solution afterwards.
    probability : bool
        Whether probabilities are calibrated anew, where the model has them.
    force : bool
        Whether a file that is no model may be replaced.
    callback : callable, optional
        Gets the rows added so far and all that will be.
    chunk_rows : int, optional
        Rows of the file held at a time.

    Returns
    -------
    dict
        Counts, figures and seconds.
    """
    try:
        return _update(
            model, data, output, target, no_labels, skip_missing, block, consolidate, probability,
            force, callback, chunk_rows,
        )  # fmt: skip
    except KeyboardInterrupt:
        before = f", and {output} is as it was before" if Path(output).exists() else ""
        raise Interrupted(f"no row was added{before}.") from None


def _update(
    model, data, output, target, no_labels, skip_missing, block, consolidate, probability, force,
    callback, chunk_rows,
):  # fmt: skip
    from ..io.models.files import describe, load_model, read_metadata, save_model
    from ..io.paths import input_format

    started = time.perf_counter()
    read_metadata(model)  # whether it is a model at all is said first
    if data is not None:
        input_format(data)
    check_model_output(output, force, inputs=[] if data is None else [data])
    unchanged = _stamp(model)
    pipeline, schema, metadata = load_model(model)
    machine, before = pipeline[-1], metadata["training"]
    _check_machine(model, metadata["machine"], machine, consolidate)
    more = None
    if data is not None:
        more = MoreRows(
            pipeline, schema, metadata, data, target, no_labels, skip_missing, chunk_rows
        )
    probability = (
        probability
        and hasattr(machine, "predict_proba")
        and machine.__dict__.get("_curve") is not None
    )
    went = _follow(machine, more, block, consolidate, callback)
    went["seconds_calibrating"], remarks = _calibrate(machine, probability)
    training = _described(metadata, machine, more, data)
    described = describe(metadata["machine"], metadata["parameters"], schema, training)
    if _stamp(model) != unchanged:
        raise UserError(
            f"{model} was changed by another command meanwhile, so no row was added; run the "
            "command again."
        )
    save_model(output, pipeline, {**described, "created": metadata["created"]})
    counted = more is not None and "rows_labeled" in training
    return {
        "model": str(model),
        "data": None if data is None else str(data),
        "output": str(output),
        "machine": metadata["machine"],
        "rows": 0 if more is None else more.n_rows,
        "rows_labeled": dict(more.labels.n_labeled) if counted else {},
        "rows_unlabeled": more.labels.n_unlabeled if counted else 0,
        "rows_before": before["rows"],
        "rows_after": training["rows"],
        "objective": training["objective"],
        "violation": training["violation"],
        "duality_gap": training["duality_gap"],
        "converged": training["converged"],
        "consolidation_due": training.get("consolidation_due"),
        **went,
        "unseen_categories": {} if more is None else more.unseen,
        "notes": ([] if more is None else more.notes) + went["notes"] + remarks,
        "bytes": Path(output).stat().st_size,
        "seconds": time.perf_counter() - started,
    }


def _check_machine(model, name, machine, consolidate):
    """Refuse a model that cannot be updated as asked."""
    from ..estimators._stream_state import holds_rows
    from ..io.models.machines import MACHINES

    if not hasattr(machine, "partial_fit"):
        raise UserError(
            f"{model} is a model of the machine {name}, which cannot be updated; fit a new model "
            "to all rows."
        )
    if not holds_rows(machine):
        how = "without --no-rows" if MACHINES[name].keeps_rows else "with --rows"
        raise UserError(
            f"{model} does not hold its training rows, so none can be added; fit it again {how}."
        )
    if consolidate and not hasattr(machine, "consolidate"):
        raise UserError(
            f"A model of the machine {name} has one solution, so there is nothing to consolidate; "
            "leave --consolidate out."
        )


def _follow(machine, more, block, consolidate, callback):
    """Add the rows and consolidate; gives what it took."""
    replaced = consolidating = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if hasattr(machine, "resume"):
                machine.resume()  # the path begins here and not with the first row
            before = _path(machine)
            times = [] if more is None else _add(machine, more, block, callback)
            after = _path(machine)
            if consolidate:
                since = time.perf_counter()
                replaced = bool(machine.consolidate())
                consolidating = time.perf_counter() - since
    except ValueError as error:
        raise UserError(as_options(str(error))) from error
    except ArithmeticError as error:
        raise UserError(
            f"The solution could not be followed ({error}), so no row was added; fit a new model "
            "to all rows."
        ) from error
    except MemoryError as error:
        raise UserError(
            "There is not enough memory to add the rows, so none was; add fewer."
        ) from error
    steps, flips = (None if b is None else a - b for a, b in zip(after, before, strict=True))
    return {
        "milliseconds_per_row": _milliseconds(times),
        "seconds_adding": sum(seconds for _, seconds in times),
        "steps": steps,
        "flips": flips,
        "consolidated": replaced,
        "seconds_consolidating": consolidating,
        "notes": spoken(caught),
    }


def _calibrate(machine, wanted):
    """Have the curve to probabilities fitted, which the model then keeps."""
    if not wanted:
        return None, []
    since = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.predict_proba(machine.support_vectors_[:1])
    return time.perf_counter() - since, spoken(caught)


def _described(metadata, machine, more, data):
    """What the updated model says of its training."""
    training = metadata["training"]
    updates = training.get("updates", {"count": 0, "rows": 0})
    n_rows, n_read = (0, 0) if more is None else (more.n_rows, more.n_read)
    return {
        **training,
        **_figures(metadata["machine"], machine, training, more),
        "rows": training["rows"] + n_rows,
        "rows_read": training["rows_read"] + n_read,
        "updates": {
            "count": updates["count"] + 1,
            "rows": updates["rows"] + n_rows,
            "data": None if data is None else Path(data).name,
            "last": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }


def _add(machine, more, block, callback):
    """Add all rows; gives the rows and seconds of every call."""
    times = []
    done = 0
    for X, y in more.blocks(block):
        since = time.perf_counter()
        if y is None:
            machine.partial_fit(X)
        else:
            machine.partial_fit(X, y)
        times.append((X.shape[0], time.perf_counter() - since))
        done += X.shape[0]
        if callback:
            callback(done, more.n_rows)
    return times


def _milliseconds(times):
    """Milliseconds per row; None where none was added."""
    import numpy as np

    if not times:
        return None
    rows, seconds = np.array(times).T
    each = np.repeat(1e3 * seconds / rows, rows.astype(int))
    return {
        "median": float(np.median(each)),
        "mean": float(each.mean()),
        "max": float(each.max()),
    }


def _path(machine):
    """Steps and sign changes so far, None for machines that count none."""
    return getattr(machine, "n_steps_", None), getattr(machine, "n_flips_", None)


def _figures(name, machine, training, more):
    """Figures of the machine as it is now."""
    labeled = training.get("rows_labeled", {})
    if "positive" in training:
        labeled = {training["positive"]: labeled}
    if more is not None:
        labeled = {key: count + more.labels.n_labeled[key] for key, count in labeled.items()}
    figures = figures_of(name, machine, _held(machine), labeled)
    return {key: value for key, value in figures.items() if key not in _OF_THE_FIT}


def _stamp(path):
    """Changes when the file is written anew."""
    found = Path(path).stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _held(machine):
    rows = getattr(machine, "training_rows_", None)
    return machine._stream_state()["X"] if rows is None else rows.X
