"""Where arrays are: the library that made them, and the device that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn import get_config

from ..._typing import FloatArray
from ..._util.extras import require
from ...problem import Penalty, Totals
from ...problem.penalty import PiecewiseLinear
from ...solvers.engine.messages import Histogram, LowestRows

if TYPE_CHECKING:
    from .penalty import ArrayPenalty

# An array of any library of the array API, which have no type in common.
DeviceArray: TypeAlias = Any
Gram = TypeVar("Gram")

# Rows that are ranked on the host, all of them.
_MAX_ROWS_ON_HOST = 8192
# One row in so many shows where the lowest of more rows lie.
_RANKING_STRIDE = 64
# What rows are most often, for which nobody asks further.
_HOST_TYPES = (np.ndarray, list, tuple, str)


class ArrayBackend:
    """A namespace of the array API ``xp`` with a ``device``, and the way there and back.

    A backend of a ``Partition``, as ``NumpyBackend`` is. ``moved`` counts the bytes that went
    either way.
    """

    def __init__(self, xp: ModuleType, device: object) -> None:
        self.xp, self.device, self.moved = xp, device, 0
        self.float64, self.float32 = xp.float64, xp.float32
        self.is_processor = "cpu" in str(device).lower()
        # Totals, and the rates of change that were found with them.
        self._found: tuple[Totals, tuple[DeviceArray, DeviceArray]] | None = None

    def __str__(self) -> str:
        return f"{self.xp.__name__.split('.')[-1]} on {self.device}"

    # -- there and back --------------------------------------------------------------------------

    def array(self, values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> DeviceArray:
        """NumPy numbers as an array of this library; plain numbers become arrays without axes."""
        values = np.asarray(values, dtype)
        self.moved += values.nbytes
        return self.xp.asarray(values.copy(), device=self.device)

    def rows(self, places: npt.ArrayLike) -> DeviceArray:
        """Return places of NumPy as an index here."""
        return self.array(places, np.int64)

    def numpy(self, array: DeviceArray) -> Any:
        """Return an array from here, in NumPy."""
        name = self.xp.__name__.split(".")[-1]
        if name == "array_api_strict":
            values = np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))
        elif name == "torch":
            values = array.detach().cpu().numpy()
        elif name == "cupy":
            values = array.get()
        else:
            values = np.from_dlpack(array)
        self.moved += values.nbytes
        return values

    def penalty(self, penalty: PiecewiseLinear) -> Penalty:
        """Return an ``ArrayPenalty`` in NumPy."""
        return cast("ArrayPenalty", penalty).numpy()

    # -- what libraries have other names for -----------------------------------------------------

    def numbers(self, arrays: Iterable[DeviceArray]) -> list[float]:
        """Return arrays without axes as numbers, by one trip."""
        kind = self.float64
        return self.numpy(self.xp.stack([self.xp.astype(a, kind) for a in arrays])).tolist()

    def zeros(self, n: int) -> DeviceArray:
        """Return ``n`` zeros in float64."""
        return self.xp.zeros(n, dtype=self.float64, device=self.device)

    def copy(self, array: DeviceArray) -> DeviceArray:
        """Return an array of its own."""
        return self.xp.asarray(array, copy=True)

    def largest(self, array: DeviceArray) -> float:
        """Return the largest absolute value."""
        return float(self.xp.max(self.xp.abs(array)))

    def places(self, mask: DeviceArray) -> DeviceArray:
        """Return the places where a mask is true, as an array here."""
        return self.xp.nonzero(mask)[0]

    def take(self, array: DeviceArray, places: DeviceArray) -> DeviceArray:
        """Return some entries of an array, or the one that is for all."""
        return array if array.ndim == 0 else self.xp.take(array, places)

    def take_each(self, arrays: Sequence[DeviceArray], places: DeviceArray) -> list[FloatArray]:
        """Return some entries of each of several arrays, in NumPy, by one trip."""
        n = places.shape[0]
        parts = [self.xp.broadcast_to(self.take(array, places), (n,)) for array in arrays]
        return list(map(np.array, self.numpy(self.xp.stack(parts))))

    def put(self, array: DeviceArray, places: DeviceArray, values: DeviceArray) -> DeviceArray:
        """``array`` with other values at some places, in place where the library can."""
        try:
            array[places] = values
        except IndexError:  # the standard itself has no such thing
            xp = self.xp
            if not places.shape[0]:
                return array
            order = xp.argsort(places)
            places, values = xp.take(places, order), xp.take(values, order)
            everywhere = xp.arange(array.shape[0], device=self.device, dtype=places.dtype)
            after = xp.searchsorted(places, everywhere)
            after = xp.minimum(after, xp.asarray(places.shape[0] - 1, device=self.device))
            return xp.where(xp.take(places, after) == everywhere, xp.take(values, after), array)
        return array

    def order(self, values: DeviceArray) -> DeviceArray:
        """Return places in ascending order of values; equal values keep their order."""
        return self.xp.argsort(values, stable=True)

    def running(self, values: DeviceArray) -> DeviceArray:
        """0 and the sums of the first values, up to all."""
        return self.xp.concat([self.zeros(1), self.xp.cumulative_sum(values)])

    def ends(self, values: DeviceArray, limit: float) -> tuple[int, int]:
        """Count the ascending values below a limit, and those that are at most the limit."""
        at = self.array([limit], float)
        below = self.xp.searchsorted(values, at, side="left")[0]
        return int(below), int(self.xp.searchsorted(values, at, side="right")[0])

    # -- what leaves a partition -----------------------------------------------------------------

    def survey(
        self, penalty: PiecewiseLinear, a: DeviceArray, g: DeviceArray, size: DeviceArray
    ) -> Totals:
        """``Totals`` of variables; remembers their rates of change."""
        self._found = cast("ArrayPenalty", penalty).survey(a, g, size)
        return self._found[0]

    def rates(self, totals: Totals) -> tuple[DeviceArray, DeviceArray] | None:
        """Return rates of change up and down, which were found with these ``totals``.

        None if lost.
        """
        return self._found[1] if self._found is not None and self._found[0] is totals else None

    def find_lowest(self, keys: DeviceArray, count: int) -> LowestRows:
        """Return the lowest of many keys, as ``LowestRows`` places; few keys leave the device."""
        xp = self.xp
        if keys.shape[0] <= max(_MAX_ROWS_ON_HOST, 4 * count):
            return LowestRows.from_keys(self.numpy(keys), count)
        some = xp.sort(keys[::_RANKING_STRIDE])
        place, limit = 2 * (count // _RANKING_STRIDE) + 16, self.array(np.inf)
        while place < some.shape[0]:
            if int(xp.sum(self.exactly(keys <= some[place]))) >= count:
                limit = some[place]
                break
            place *= 4
        # Those at the limit, which may be most rows, count by their numbers.
        below = self.places(keys < limit)
        missing = count - below.shape[0]
        found = [below]
        if missing > 0:
            alike = self.places(keys == limit)
            found.append(alike[: min(missing, alike.shape[0])])
        chosen = xp.sort(xp.concat(found))
        best = LowestRows.from_keys(self.numpy(xp.take(keys, chosen)), count)
        return LowestRows(self.numpy(chosen)[best.ids], best.keys)

    def histogram(self, values: DeviceArray, weight: DeviceArray, edges: FloatArray) -> Histogram:
        """Return the histogram of values, see ``Histogram.from_numbers``."""
        if not values.shape[0]:
            return Histogram.from_numbers(np.empty(0), np.empty(0), edges)
        xp, order = self.xp, self.xp.argsort(values)
        values, up_to = xp.take(values, order), self.running(xp.take(weight, order))
        ends = [0, values.shape[0]]
        if len(edges):
            ends[1:1] = self.numpy(xp.searchsorted(values, self.array(edges, float))).tolist()
        weights = self.numpy(xp.take(up_to, self.rows(ends)))
        least, most = self.numbers([values[0], values[-1]])
        return Histogram(np.diff(weights), np.diff(ends), least, most)

    def caching(self, gram: Gram, max_bytes: float) -> Gram:
        """``gram`` itself: kernel values are computed faster than they are read."""
        return gram

    # -- what only devices need ------------------------------------------------------------------

    def exactly(self, array: DeviceArray) -> DeviceArray:
        """Return an array in float64."""
        return self.xp.astype(array, self.float64, copy=False)

    def release(self) -> None:
        """Forget rates of change, which take room on the device."""
        self._found = None


def backend_of(X: object) -> ArrayBackend | None:
    """Return the ``ArrayBackend`` of an array that is to compute where it is; None for any other.

    That is so with scikit-learn's ``array_api_dispatch``, for arrays of other libraries than
    NumPy.
    """
    if isinstance(X, _HOST_TYPES) or sp.issparse(X) or not get_config()["array_api_dispatch"]:
        return None
    if not hasattr(X, "__dlpack__") or hasattr(X, "columns") or hasattr(X, "dask"):
        return None
    require(
        "Fitting arrays of other libraries on their device",
        "array_api_compat",
        otherwise="set array_api_dispatch=False",
    )
    import array_api_compat as compat

    if not compat.is_array_api_obj(X) or compat.is_numpy_array(X):
        return None
    backend = ArrayBackend(compat.array_namespace(X), compat.device(X))
    if compat.is_lazy_array(X) or not compat.is_writeable_array(X):
        raise ValueError(
            f"arrays of {backend.xp.__name__} are read-only or lazy; pass torch, CuPy or NumPy "
            "arrays."
        )
    info = backend.xp.__array_namespace_info__()
    if "float64" not in info.dtypes(device=backend.device, kind="real floating"):
        raise ValueError(
            f"{backend} has no float64, which the solver needs; pass X on another device, such as "
            "the CPU."
        )
    return backend


def plain_rows(backend: ArrayBackend, X: DeviceArray) -> DeviceArray:
    """Return rows in float32 or float64, apart from what a library notes about gradients."""
    xp = backend.xp
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} axes; it needs two, (n_samples, n_features).")
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; it needs at least one row and one column."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: pass real numbers.")
    X = X.detach() if hasattr(X, "detach") else X
    if X.dtype in (backend.float32, backend.float64):
        return X
    is_short = xp.isdtype(X.dtype, "real floating")
    return xp.astype(X, backend.float32 if is_short else backend.float64)
