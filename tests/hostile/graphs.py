"""Cases over ONNX graphs: rows that the library refuses, and rows at the edge of what it takes."""

import warnings

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from fewlabels import (
    PUSVM,
    S3VM,
    SVDD,
    OneClassSVM,
    PUEnsemble,
    SVDDEnsemble,
    TableEncoder,
)
from fewlabels.kernels.base import LARGEST
from fewlabels.onnx import to_onnx
from fewlabels.onnx.export import make_graph

from .verdict import Verdict, require

_KERNELS = ["rbf", "linear", "poly", "sigmoid"]
_MODELS = {
    "SVDD": lambda k, s: SVDD(kernel=k),
    "SVDD, linear slack": lambda k, s: SVDD(kernel=k, slack="linear", nu=0.2),
    "SVDD, calibrated": lambda k, s: SVDD(kernel=k, target_fpr=0.1, random_state=s),
    "OneClassSVM": lambda k, s: OneClassSVM(kernel=k, nu=0.2),
    "OneClassSVM, calibrated": lambda k, s: OneClassSVM(kernel=k, target_fpr=0.2, random_state=s),
    "SVDDEnsemble": lambda k, s: SVDDEnsemble(kernel=k, n_bags=4, random_state=s),
    "PUSVM": lambda k, s: PUSVM(kernel=k, prior=0.4, probability="isotonic"),
    "PUEnsemble": lambda k, s: PUEnsemble(kernel=k, prior=0.4, n_bags=2, random_state=s),
    "S3VM": lambda k, s: S3VM(kernel=k, probability="sigmoid"),
    "S3VM of several classes": lambda k, s: S3VM(kernel=k, probability="sigmoid"),
}
# Names of the classes, and what a refused row says in place of one.
_CLASSES = {
    "int": ([0, 1, 2], np.iinfo(np.int64).min),
    "text": (["a", "b", "c"], ""),
    "float": ([1.0, 2.0, 3.0], np.nan),
    "bool": ([False, True], False),
}
_MATRICES = {
    "none": lambda: None,
    "StandardScaler": StandardScaler,
    "RobustScaler": RobustScaler,
    "MinMaxScaler": MinMaxScaler,
    "MinMaxScaler, clip": lambda: MinMaxScaler(clip=True),
    "MaxAbsScaler": MaxAbsScaler,
    "SimpleImputer": SimpleImputer,
    "SimpleImputer, marked -1": lambda: SimpleImputer(missing_values=-1.0),
    "scaler, imputer": lambda: make_pipeline(MinMaxScaler(clip=True), SimpleImputer()),
    "PCA": lambda: PCA(2),
    "TruncatedSVD": lambda: TruncatedSVD(2),
    "VarianceThreshold": VarianceThreshold,
    "SelectKBest": lambda: SelectKBest(f_classif, k=2),
    "scaler, SelectKBest": lambda: make_pipeline(StandardScaler(), SelectKBest(f_classif, k=2)),
    "scaler, VarianceThreshold": lambda: make_pipeline(StandardScaler(), VarianceThreshold(0.99)),
    "checked and passed on": lambda: FunctionTransformer(validate=True),
}
_NUMBERS = ["a", "b", "c", "d"]
_TABLES = {
    "numbers and categories": lambda: ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), _NUMBERS[:3]),
            ("c", OneHotEncoder(handle_unknown="ignore"), ["t"]),
        ]
    ),
    "strict categories": lambda: ColumnTransformer(
        [("n", StandardScaler(), _NUMBERS), ("c", OneHotEncoder(drop="first"), ["t"])]
    ),
    "ordinal, filled": lambda: ColumnTransformer(
        [
            ("n", RobustScaler(), _NUMBERS[:2]),
            ("c", make_pipeline(OrdinalEncoder(), SimpleImputer()), ["t", "k"]),
        ]
    ),
    "numeric categories": lambda: ColumnTransformer(
        [("n", "passthrough", _NUMBERS), ("c", OneHotEncoder(handle_unknown="ignore"), ["k"])]
    ),
    "flags": lambda: ColumnTransformer(
        [
            ("n", SimpleImputer(add_indicator=True), _NUMBERS[:3]),
            ("m", MissingIndicator(error_on_new=True), ["a", "d"]),
        ]
    ),
    "TableEncoder": TableEncoder,
}
_CELLS = [
    np.nan,
    np.inf,
    -np.inf,
    1e38,
    -1e38,
    LARGEST,
    -LARGEST,
    float(np.nextafter(LARGEST, np.inf)),
    -1.001 * LARGEST,
    1e200,
    -1e308,
    np.finfo(float).max,
    1e149,
    1e75,
    -1e75,
    1e50,
    1e49,
    -1.0,
    0.0,
    5e-324,
]
# Scores, in units of what they are summed from, below which a row is out of a kernel's reach.
_FAR = 1e6
_TOLERANCE = {"float64": 1e-5, "float32": 2e-4}


class Case:
    """A model or pipeline, and rows of which the library takes some."""

    def __init__(self, seed):
        self.seed, self.rng = seed, np.random.default_rng([14, 7, seed])
        pick = self.rng.choice
        self.model, self.kernel = str(pick(list(_MODELS))), str(pick(_KERNELS))
        if self.model == "PUEnsemble" and self.kernel == "sigmoid":
            self.kernel = "poly"
        self.is_table = bool(self.rng.random() < 0.4)
        self.step = str(pick(list(_TABLES if self.is_table else _MATRICES)))
        self.names = str(pick(list(_CLASSES)))
        if self.names == "bool" and "several" in self.model:
            self.names = "text"
        self.dtype = str(pick(["float64", "float32"]))

    def describe(self):
        return f"{self.model} ({self.kernel}), {self.step}, {self.names} labels, {self.dtype}"

    def __call__(self):
        frame, truth = self._rows(44)
        data = frame if self.is_table else frame[_NUMBERS].to_numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # kernels that are not positive semi-definite
            model = self._fitted(data, truth)
        if hasattr(model, "predict_proba"):
            model.predict_proba(data[:2])
        if self.step == "TableEncoder":  # as the command line exports
            encoded = make_pipeline(model[0].encoder_, model[-1])
            graph = make_graph(encoded, self.dtype, None, of_table=True)
        else:
            graph = to_onnx(model, dtype=self.dtype)
        rows = self._hostile(frame.head(14))
        found = self._run(graph, rows)
        final = model[-1] if hasattr(model, "steps") else model
        n_refused = 0
        for k in range(len(rows)):
            row = rows.iloc[k : k + 1]
            answer = {name: value[k] for name, value in found.items()}
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # categories that are unknown
                    given = row if self.is_table else row[_NUMBERS].to_numpy()
                    wanted = np.asarray(model.decision_function(given))[0]
                    label = model.predict(given)[0]
                    encoded = given if final is model else model[:-1].transform(given)
                    size = self._size(final, encoded)
            except ValueError as error:
                n_refused += 1
                self._require_nothing(answer, final, row, error)
                continue
            self._require_same(answer, wanted, label, size, row)
        return Verdict("refused" if n_refused == len(rows) else "right", f"{n_refused} refused")

    def _rows(self, n):
        rng = self.rng
        truth = np.arange(n) % 3
        centers = 3.0 * np.eye(3, 4)[truth]
        X = rng.normal(size=(n, 4)) + centers
        X *= 10.0 ** rng.integers(-2, 3, 4)
        frame = pd.DataFrame(X.astype(np.float32).astype(float), columns=_NUMBERS)
        frame["t"] = np.array(["u", "v", "w"], dtype=object)[rng.integers(0, 3, n)]
        frame["k"] = rng.integers(0, 3, n).astype(float)
        if self.step == "flags":
            frame.loc[[3, 9], "a"] = np.nan
        return frame, truth

    def _fitted(self, data, truth):
        model = _MODELS[self.model](self.kernel, self.seed)
        step = (_TABLES if self.is_table else _MATRICES)[self.step]()
        names = np.array(_CLASSES[self.names][0])
        is_known = np.arange(len(truth)) < 15
        if "PU" in self.model:
            y = names[((truth == 1) & is_known).astype(int)]
        elif "S3VM" in self.model:
            place = truth if "several" in self.model else np.minimum(truth, 1)
            y = names.astype(object)[place]
            y = np.where(is_known, y, None)
        else:
            y = None
        if step is None:
            return model.fit(data) if y is None else model.fit(data, y)
        # Selections are made by the truth, which the models don't see.
        encoded = step.fit_transform(data, truth)
        pipeline = make_pipeline(step, model)
        model.fit(encoded) if y is None else model.fit(encoded, y)
        return pipeline

    def _hostile(self, frame):
        """Rows with cells that no model should see, and some that it should."""
        rng, rows = self.rng, frame.copy().reset_index(drop=True)
        for k in range(2, len(rows)):
            for name in rng.choice(_NUMBERS, rng.integers(1, 3), replace=False):
                value = float(rng.choice(_CELLS))
                if rng.random() < 0.3:
                    value = float(rng.choice([-1, 1]) * 10.0 ** rng.uniform(0, 308))
                rows.loc[k, name] = value
            if rng.random() < 0.25:
                rows.loc[k, "t"] = str(rng.choice(["new", "u", ""]))
            if rng.random() < 0.25:
                rows.loc[k, "k"] = float(rng.choice([7.0, np.nan, np.inf, 1.0]))
        if self.dtype == "float32":
            with np.errstate(over="ignore"):
                for name in [*_NUMBERS, "k"]:
                    rows[name] = rows[name].to_numpy(np.float32).astype(float)
        return rows

    def _run(self, graph, rows):
        session = onnxruntime.InferenceSession(
            graph.SerializeToString(), _quiet(), providers=["CPUExecutionProvider"]
        )
        if not self.is_table:
            feed = {"X": rows[_NUMBERS].to_numpy(self.dtype)}
        else:
            feed = {}
            for given in session.get_inputs():
                column = rows[[given.name]]
                is_text = given.type == "tensor(string)"
                feed[given.name] = column.to_numpy(object if is_text else self.dtype)
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, feed), strict=True))

    def _require_nothing(self, answer, final, row, error):
        shown = f"{row.to_dict('records')[0]}, which the library refuses ({str(error)[:90]})"
        for name, value in answer.items():
            if name != "label":
                require(bool(np.all(np.isnan(value))), f"{name} is {value} for {shown}")
        names = _CLASSES[self.names]
        blank = names[1] if hasattr(final, "classes_") else np.iinfo(np.int64).min
        label = answer["label"]
        is_blank = label == blank or (blank != blank and label != label)
        require(bool(is_blank), f"the label is {label!r} for {shown}")

    def _require_same(self, answer, wanted, label, size, row):
        shown = f"{row.to_dict('records')[0]}, where the library says {wanted} ({label})"
        score = answer["score"]
        require(not np.isnan(score).any(), f"the score is {score} for {shown}")
        tolerance = _TOLERANCE[self.dtype] * np.maximum(size, np.abs(wanted).max())
        with np.errstate(over="ignore"):
            limit = np.finfo(self.dtype).max
            is_near = (np.abs(score - wanted) <= tolerance) | (np.abs(wanted) > limit)
        if self.kernel == "rbf":  # logarithms of rows out of reach end somewhere
            is_near |= (score < -_FAR * size) & (wanted < -_FAR * size)
        require(bool(is_near.all()), f"the score is {score} for {shown}")
        top = np.sort(np.ravel(wanted))
        margin = abs(top[0]) if len(top) == 1 else top[-1] - top[-2]
        if margin > 2.0 * tolerance and margin > 0.0:
            require(bool(answer["label"] == label), f"the label is {answer['label']} for {shown}")

    @staticmethod
    def _size(final, row):
        """What the score of an encoded row is summed from, before values cancel."""
        function = final.function_
        if hasattr(function, "coef"):
            return _summed(function, row)
        return max(
            (abs(bag.middle) + _summed(bag.function, row)) / bag.spread for bag in function.bags
        )


def _summed(function, row):
    """Bound on the values of a function, from the coefficients and K(x, x)."""
    kernel, vectors = function.kernels[0], function.vectors
    row = row.toarray() if hasattr(row, "toarray") else row
    if function.shift is not None:
        vectors, row = vectors - function.shift, row - function.shift
    own = float(np.abs(kernel.diagonal(np.asarray(row, dtype=float)))[0])
    reach = float(np.abs(kernel.diagonal(vectors)).max(initial=0.0))
    largest = (
        np.sqrt(reach) * np.sqrt(max(own, reach)) + getattr(function, "self_weight", 0.0) * own
    )
    return float(np.abs(function.coef).sum() * largest + np.abs(function.bias).max())


def _quiet():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return options


def make(seed):
    """Description and function of a case."""
    case = Case(seed)
    return case.describe(), case
