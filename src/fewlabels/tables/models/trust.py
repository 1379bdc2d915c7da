"""Types that model files may hold, and those that users have to trust.

A candidate of the user's own has types of other packages, which could run anything when they are
loaded. Its file names its class, and loads only if the user names all of these types.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..._util.extras import require
from ..._util.messages import UserError, listing, ref
from ...tasks import METHODS, candidate_facts, estimator_class

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..file_identity import StrPath

# Plain data that skops can hold but does not know to be harmless.
_PLAIN_TYPES = ["scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix", "numpy.dtype"]
# Parts of this package whose classes models and their values are made of.
_MODEL_MODULES = (
    "base",
    "baselines",
    "calibration",
    "kernels",
    "one_class",
    "positive_unlabelled",
    "problem",
    "rows.row_store",
    "semi_supervised",
    "tables.encoding",
)


def trusted_types() -> list[str]:
    """Return types that model files may hold besides those skops trusts; made without calls."""
    from .. import encoding

    for part in (".blanks", ".rare", ".texts", ".truth"):
        import_module(part, encoding.__name__)
    package = __name__.partition(".")[0]
    for name in METHODS:
        estimator_class(name)  # and with it what it is made of
    parts = tuple(f"{package}.{part}." for part in _MODEL_MODULES)
    operators = f"{package}.kernels.operators."
    return _PLAIN_TYPES + [
        f"{name}.{value.__qualname__}"
        for name, module in list(sys.modules.items())
        if f"{name}.".startswith(parts) and not f"{name}.".startswith(operators)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    ]


def describe_candidate(model: BaseEstimator, must_be_stored: bool) -> dict[str, Any]:
    """Return what a model file says of the candidate that a fitted model has as its method.

    These are its task, its class with package and version, and the types that must be trusted to
    load it: None if a file can't hold it, or a UserError if it ``must_be_stored``.
    """
    from ...baselines.candidates import class_name  # slow to import

    name, types = class_name(model.method), None
    top = name.partition(".")[0]
    package = packages_distributions().get(top, [top])[0]
    if must_be_stored or find_spec("skops"):
        try:
            types = sorted({name, *check_storable(model)})
        except UserError:
            if must_be_stored:
                raise
    return {
        "task": model.task.name,
        "class": name,
        "package": package,
        "version": package_version(package),
        "types": types,
    }


def package_version(package: str) -> str | None:
    """Return the version of a package or module, None if it has none or isn't here."""
    try:
        return version(package)
    except PackageNotFoundError:
        known = getattr(sys.modules.get(package), "__version__", None)
        return None if known is None else str(known)


def check_storable(model: BaseEstimator) -> list[str]:
    """Return the foreign types that a candidate's model is stored with.

    A UserError says why a file can't hold it.
    """
    require("saving a model file", "skops")
    import skops.io

    from ...baselines.candidates import describe_error  # slow to import

    try:
        data = skops.io.dumps(model)
        types = skops.io.get_untrusted_types(data=data)
        skops.io.loads(data, trusted=types)
    except Exception as error:  # types of any package
        raise UserError(
            f"A model file can't hold the candidate ({describe_error(error)})."
        ) from error
    return sorted(set(types) - set(trusted_types()))


def check_trust(
    path: StrPath, metadata: dict[str, Any], found: Iterable[str], given: Collection[str]
) -> list[str]:
    """Return the types of a model file that are not trusted by default, if the user trusts them.

    ``found`` are the types that skops doesn't trust. A UserError names those missing from
    ``given``, or a package or class that isn't installed.
    """
    candidate = candidate_facts(metadata)
    foreign = set(found) - set(trusted_types())
    if candidate is None:
        if foreign:
            raise UserError(
                f"{path} contains types that no fewlabels model has ({listing(sorted(foreign))}), "
                "so it was not loaded; don't trust this file."
            )
        return []
    foreign.add(candidate["class"])
    if missing := sorted(foreign - set(given)):
        raise UserError(
            f"{path} holds the candidate {metadata['method']} of the package "
            f"{candidate['package']}, whose types can run any code when they are loaded; if you "
            f"trust the file, pass {trust_in_words(missing)}."
        )
    for name in sorted(foreign):
        _check_exists(path, name, candidate)
    return sorted(foreign)


def trust_in_words(types: list[str] | None) -> str:
    """Return the option that trusts types, for messages; None for types that aren't known."""
    if types is None:
        return ref("trusted")
    return ref("trusted", some=(" --trust ".join(types), repr(types)))


def _check_exists(path: StrPath, name: str, candidate: dict[str, Any]) -> None:
    """Refuse a type that this installation doesn't have."""
    module, _, kind = name.rpartition(".")
    needs = f"{path} needs {name}, and it was written with {candidate['package']}"
    needs += f" {candidate['version']}" if candidate["version"] else ""
    try:
        home = import_module(module)
    except Exception as error:
        raise UserError(
            f"{needs}, which can't be imported here ({error}); install that package."
        ) from error
    if not hasattr(home, kind):
        raise UserError(
            f"{needs}, but the package that is installed has no such class; install that version."
        )
