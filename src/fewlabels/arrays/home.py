"""Where arrays are: the library that made them, and the device that holds them."""

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from .._extras import require

# What rows are most often, for which nobody asks further.
_USUAL = (np.ndarray, list, tuple, str)


class Home:
    """A namespace of the array API ``xp`` with a ``device``, and the way there and back.

    ``moved`` counts the bytes that went either way.
    """

    def __init__(self, xp, device):
        self.xp, self.device, self.moved = xp, device, 0
        self.float64, self.float32 = xp.float64, xp.float32
        self.is_processor = "cpu" in str(device).lower()

    def __str__(self):
        return f"{self.xp.__name__.split('.')[-1]} on {self.device}"

    def array(self, values, dtype=None):
        """Numbers of NumPy, as an array here; plain numbers become arrays without axes."""
        values = np.asarray(values, dtype)
        self.moved += values.nbytes
        return self.xp.asarray(values.copy(), device=self.device)

    def numpy(self, array):
        """An array from here, in NumPy."""
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

    def numbers(self, arrays):
        """Arrays without axes as numbers, by one trip."""
        kind = self.float64
        return self.numpy(self.xp.stack([self.xp.astype(a, kind) for a in arrays])).tolist()

    def zeros(self, n):
        """So many zeros in float64."""
        return self.xp.zeros(n, dtype=self.float64, device=self.device)

    def exactly(self, array):
        """An array in float64."""
        return self.xp.astype(array, self.float64, copy=False)

    def places(self, mask):
        """Where a mask holds, as an array here."""
        return self.xp.nonzero(mask)[0]

    def rows(self, places):
        """Places of NumPy as an index here."""
        return self.array(places, np.int64)

    def put(self, array, rows, values):
        """``array`` with other values at ascending ``rows``, in place where the library can."""
        try:
            array[rows] = values
        except IndexError:  # the standard itself has no such thing
            xp = self.xp
            if not rows.shape[0]:
                return array
            everywhere = xp.arange(array.shape[0], device=self.device, dtype=rows.dtype)
            after = xp.searchsorted(rows, everywhere)
            after = xp.minimum(after, xp.asarray(rows.shape[0] - 1, device=self.device))
            mine = xp.take(rows, after) == everywhere
            return xp.where(mine, xp.take(values, after), array)
        return array


def home_of(X):
    """The ``Home`` of an array that is to compute where it is; None for any other.

    That is so with scikit-learn's ``array_api_dispatch``, for arrays of other libraries than
    NumPy.
    """
    if isinstance(X, _USUAL) or sp.issparse(X) or not get_config()["array_api_dispatch"]:
        return None
    if not hasattr(X, "__dlpack__") or hasattr(X, "columns") or hasattr(X, "dask"):
        return None
    require(
        "Fitting arrays of other libraries on their device", "array_api_compat",
        otherwise="set array_api_dispatch=False",
    )  # fmt: skip
    import array_api_compat as compat

    if not compat.is_array_api_obj(X) or compat.is_numpy_array(X):
        return None
    home = Home(compat.array_namespace(X), compat.device(X))
    if compat.is_lazy_array(X) or not compat.is_writeable_array(X):
        raise ValueError(
            f"arrays of {home.xp.__name__} are read-only or lazy; pass torch, CuPy or NumPy "
            "arrays."
        )
    info = home.xp.__array_namespace_info__()
    if "float64" not in info.dtypes(device=home.device, kind="real floating"):
        raise ValueError(
            f"{home} has no float64, which the solver needs; pass X on another device, such as "
            "the CPU."
        )
    return home


def plain_rows(home, X):
    """Rows in float32 or float64, apart from what a library notes about gradients."""
    xp = home.xp
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} axes; it needs two, (n_samples, n_features).")
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; it needs at least one row and one column."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: pass real numbers.")
    X = X.detach() if hasattr(X, "detach") else X
    if X.dtype in (home.float32, home.float64):
        return X
    is_short = xp.isdtype(X.dtype, "real floating")
    return xp.astype(X, home.float32 if is_short else home.float64)
