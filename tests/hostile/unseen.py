"""One-class models on tables, and rows with what training never had: categories, blanks, nothing.

Whatever is new makes a row at least as unusual as the rarest category does, or as most rows are;
rows without a value get no p-value or an alarm; and the rate of false alarms stays.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import betabinom

from fewlabels import fit_table, load
from fewlabels.pipeline import update
from fewlabels.tables.encoding.fit import known_categories

from .verdict import require

_RATE, _NEW, _SOME = 0.05, 100, 40
_MODELS = ("svdd", "one-class", "svdd-ensemble")


def make(seed):
    case = Unseen(seed)
    return f"unseen {seed}: {case.described}", case


class Unseen:
    """A table drawn by a seed, a model, and what it says of rows with something new."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([seed, 4711])
        self.n = int(rng.choice([40, 80, 160]))
        self.model = str(rng.choice(_MODELS))
        kinds = rng.choice(["number", "category", "boolean", "text"], 4, p=[0.4, 0.4, 0.1, 0.1])
        self.columns = {f"{kind[0]}{k}": self._column(kind) for k, kind in enumerate(kinds)}
        if not any(name[0] in "nc" for name in self.columns):
            self.columns["n9"] = self._column("number")
        self.table, self.new = self._rows(self.n), self._rows(_NEW)
        shown = ", ".join(f"{name} {column[1]}" for name, column in self.columns.items())
        self.described = f"{self.model}, {self.n} rows, {shown}"

    def _column(self, kind):
        """A function that draws values of a column, and what it is in words."""
        rng = self.rng
        share = float(rng.choice([0.0, 0.0, 1.2 / self.n, 0.05, 0.3]))
        if kind == "number":
            unit, shift = 10.0 ** rng.integers(-3, 5), 10.0 ** rng.integers(0, 4)
            draw, words = (lambda n: unit * (rng.normal(size=n) + shift)), f"in {unit:g}"
        elif kind == "category":
            count = int(rng.choice([2, 3, 5, 12, 40, 200]))
            power = float(rng.choice([0.0, 0.7, 1.0, 2.0]))
            chances = np.arange(1.0, count + 1) ** -power
            names = np.array([f"k{k}" for k in range(count)], dtype=object)
            draw = lambda n: rng.choice(names, n, p=chances / chances.sum())  # noqa: E731
            words = f"of {count} to the {power:g}"
        elif kind == "boolean":
            draw, words = (lambda n: rng.choice(np.array(["yes", "no"], object), n)), ""
        else:
            said = np.array("pump valve leaks works again today never oil".split(), dtype=object)
            draw = lambda n: np.array([" ".join(rng.choice(said, 6)) for _ in range(n)], object)  # noqa: E731
            words = ""
        return draw, f"{words}, blank {share:.2g}", share

    def _rows(self, n):
        found = {}
        for name, (draw, _, share) in self.columns.items():
            values = draw(n)
            values[self.rng.random(n) < share] = np.nan if name[0] == "n" else ""
            found[name] = values
        return pd.DataFrame(found)

    def __call__(self):
        found = self._fitted()
        used = [name for name in found.schema.names() if name in self.columns]
        categories = [name for name in used if name[0] == "c"]
        answers = self._ask(found, categories, [name for name in used if name[0] in "nb"])
        for name in categories:
            self._check_category(name, answers)
        for name in filter(lambda name: name.startswith("blank"), answers):
            usual, blank = (answers[key]["p_value"].median() for key in ("as it is", name))
            right = not np.isfinite(blank) or blank <= usual
            require(right, f"{name}: more usual than most rows")
        self._check_rate(answers["new"]["p_value"])
        self._check_empty(found)
        if self.model != "svdd-ensemble" and categories:
            self._check_update(found, categories[0], answers)
        else:
            self._check_file(found, answers["new"])

    def _fitted(self):
        kinds = {kind: [name for name in self.columns if name[0] == kind] for kind in "ct"}
        options = {"n_bags": 8} if self.model == "svdd-ensemble" else {"rows": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few rows
            return fit_table(
                self.table,
                time_budget=0,
                report=False,
                method=self.model,
                target_fpr=_RATE,
                keep=list(self.table),
                categorical=kinds["c"],
                text=kinds["t"],
                n_jobs=1,
                **options,
            )

    def _ask(self, found, categories, others):
        """Answers about new rows, and about some rows of training with other cells, by name."""
        some = self.table.head(_SOME)
        asked = {"new": self.new, "as it is": some}
        for name in categories:
            for kind in self._rarest(name):
                asked[f"rarest {name} {kind}"] = some.assign(**{name: kind})
            asked[f"unseen {name}"] = some.assign(**{name: "never seen"})
        is_blank = {name: self.table[name].isin([""]) | self.table[name].isna() for name in others}
        new = [name for name in others if not is_blank[name].any()]
        for names in [*([name] for name in new), *([new] if len(new) > 1 else [])]:
            gaps = {name: np.nan if name[0] == "n" else "" for name in names}
            asked[f"blank {' '.join(names)}"] = some.assign(**gaps)
        answers, start = found.predict(pd.concat(asked.values(), ignore_index=True)), 0
        parts = {}
        for name, rows in asked.items():
            parts[name] = answers.iloc[start : start + len(rows)]
            start += len(rows)
        return parts

    def _rarest(self, name):
        """The rarest categories of a column; one of them where they occur once."""
        counts = self.table[name].value_counts()
        rarest = sorted(counts.index[counts == counts.min()])
        return rarest[:1] if counts.min() == 1 else rarest

    def _check_category(self, name, answers):
        rarest = [answers[f"rarest {name} {kind}"]["score"] for kind in self._rarest(name)]
        unseen = answers[f"unseen {name}"]["score"].to_numpy()
        # Scores of distances are lower than with any of the rarest ones. To an isolation kernel
        # these differ by how many of their rows are centres, so there it is one of them.
        least = np.max(rarest, axis=0) if self.model == "svdd-ensemble" else np.min(rarest, axis=0)
        right = not np.any(unseen - least > 1e-9 * np.nanmax(np.abs(least)))
        require(right, f"a category never seen in {name} is more usual than the rarest one")

    def _check_rate(self, p):
        p = p.dropna()
        # The rate of new rows below the k-th lowest of n scores follows a Beta(k, n + 1 - k)
        # distribution, whose upper tail is much longer than a normal one: with 40 rows one table
        # in 2000 is beyond five standard deviations.
        rank = int(_RATE * (self.n + 1))
        most = betabinom.isf(1e-6, len(p), rank, self.n + 1 - rank)
        outside = int((p <= _RATE).sum())
        require(outside <= most, f"{outside} of {len(p)} new normal rows are outside")

    def _check_empty(self, found):
        rows = self.table.head(3).astype(object)
        rows.iloc[1] = [np.nan if name[0] == "n" else "" for name in rows]
        blank = found.predict(rows).iloc[1]
        require(blank.isna().all(), f"a row of blanks got {blank.to_dict()}")
        alarm = found.predict(rows, empty_rows="alarm").iloc[1]
        least = 1.0 / (len(found.model[-1].calibration_scores_) + 1)
        is_alarm = alarm["label"] == "outside" and np.isclose(alarm["p_value"], least)
        require(is_alarm, f"a row of blanks is no alarm: {alarm.to_dict()}")

    def _check_update(self, found, name, answers):
        with tempfile.TemporaryDirectory() as folder:
            path, more = Path(folder) / "m.fewlabels", Path(folder) / "more.csv"
            found.save(path)
            self.new.head(12).assign(**{name: "arrived"}).to_csv(more, index=False)
            update(path, more)
            later = load(path)
        known = known_categories(later.model[0], later.schema)[name]
        require("arrived" in known, "a category that arrived isn't known")
        rows = self.table.head(_SOME).assign(**{name: "arrived"})
        before = answers[f"unseen {name}"]["p_value"].median()
        after = later.predict(rows)["p_value"].median()
        # Where unseen categories are ordinary, a new one that is frequent need not be more so.
        right = after >= min(before, 0.3) - 0.03
        require(right, f"it arrived, and its p-value went from {before} to {after}")

    def _check_file(self, found, answers):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.fewlabels"
            found.save(path)
            later = load(path).predict(self.new)
        same = np.allclose(later["score"], answers["score"], rtol=1e-9, equal_nan=True)
        require(same, "the model file gives other answers")
