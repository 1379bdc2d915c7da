"""The options of ``fewlabels fit`` and :func:`fewlabels.fit_table`.

To add one, declare a field here and read it from the ``FitOptions`` where it has an effect.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from ..._util.messages import CLASS_SHARES, ref
from ..._util.option import (
    COLUMNS,
    LIMITS,
    MODEL,
    OUTPUT,
    PARAMETERS,
    PYTHON,
    ROWS,
    TIME,
    OptionRecord,
    Range,
    given_options,
    option,
    options_of_schema,
    parameter,
)
from ...positive_unlabelled.task import LOSSES
from ...tables.reading.options import ClusterOptions, ColumnOptions, ReadingOptions
from ...tasks import METHODS, baselines

# Seconds for a whole fit, the report included.
DEFAULT_BUDGET = 20.0
# scikit-learn's default of 0.5 would reject half of the training rows.
ONE_CLASS_NU = 0.05
# False positive rate that models of one class are calibrated for.
TARGET_FPR = 0.05

# Options that say how columns are encoded.
ENCODING = ("drop", "categorical", "keep", "text", "dates", "missing", "scale", "merge_case")

_INF = float("inf")
_COST = Range("greater than 0 (at least 1e-100)", lambda value: 1e-100 <= value < _INF)
_COST_OR_0 = Range(
    "0 (unlabelled rows cost nothing) or greater (at least 1e-100)",
    lambda value: value == 0 or 1e-100 <= value < _INF,
)
_POSITIVE = Range("greater than 0", lambda value: 0 < value < _INF)
_FINITE = Range("a finite number", lambda value: abs(value) < _INF)


def _share(words: str) -> Range:
    return Range(words, lambda value: 0 < value < 1)


@dataclass(frozen=True, eq=False, repr=False)
class FitOptions(OptionRecord, ReadingOptions, ClusterOptions):
    """The options of a fit; the values are what was given.

    Parameters of estimators that weren't given have the estimator's own defaults.
    """

    target: str | None = option(
        None,
        "Column with the class of each row, blank where unknown. Without it all rows count as "
        "normal.",
        ROWS,
        metavar="COLUMN",
        is_recorded=True,
    )
    _: KW_ONLY
    normal: str | None = option(
        None, "Learn from this class alone and flag everything else.", ROWS, metavar="CLASS"
    )
    positive: str | None = option(
        None,
        "Look for this class; all other rows count as unlabelled.",
        ROWS,
        metavar="CLASS",
    )
    clean: bool | None = option(
        None,
        "Whether rows of one class are free of anomalies.",
        ROWS,
        off="--maybe-dirty",
        unset="a few may be anomalies",
        is_recorded=True,
    )
    propensity: str | None = option(
        None,
        "Positive and unlabelled: column with the probability that a positive row was labelled, "
        "if labels aren't a random sample. Used for labelled rows alone.",
        COLUMNS,
        metavar="COLUMN",
    )
    selection_depends_on: Any = option(
        (),
        "Positive and unlabelled: column that decided which positives were labelled. Their "
        "propensities are estimated.",
        COLUMNS,
        metavar="COLUMN",
        accepts="str or sequence of str",
    )
    drop: Any = option(
        (),
        "Leave this column out.",
        ROWS,
        metavar="COLUMN",
        accepts="str or sequence of str",
    )
    groups: str | None = option(
        None,
        "Column that says which rows belong together, such as the patient of each visit. They are "
        "held out together and count once; the column is no feature.",
        COLUMNS,
        metavar="COLUMN",
        unset="copies of rows, and an identifier that repeats if its rows are alike",
    )
    unlabeled: str | None = option(
        None,
        "Value of the target that means 'unlabelled', in addition to blanks.",
        COLUMNS,
        metavar="VALUE",
    )
    categorical: Any = option(
        (),
        "Treat this column of numbers as categories.",
        COLUMNS,
        metavar="COLUMN",
        accepts="str or sequence of str",
    )
    keep: Any = option(
        (),
        "Use this column although it looks like an identifier, a date or a constant, or seems to "
        "come with the labels.",
        COLUMNS,
        metavar="COLUMN",
        accepts="str or sequence of str",
    )
    text: Any = option(
        (),
        "Use the words of this column although its texts are short. Sentences are recognised "
        "automatically.",
        COLUMNS,
        metavar="COLUMN",
        accepts="str or sequence of str",
    )
    text_weight: float | None = option(
        None,
        "Total variance of the text columns relative to the other columns.",
        COLUMNS,
        metavar="RATIO",
        unset="chosen on held-out labels, which may drop columns; 1 without labels",
        range=Range(
            f"greater than 0 ({ref('drop', some='COLUMN')} leaves texts out)",
            lambda value: 0 < value < _INF,
        ),
    )
    dates: Any = option(
        (),
        "Use this column of dates: day, weekday, month and hour.",
        COLUMNS,
        metavar="COLUMN",
        accepts="str or sequence of str",
    )
    missing: str = option(
        "impute",
        "Missing numbers: fill in the median and mark the place, skip the row, or refuse the "
        "table.",
        COLUMNS,
        choices=("impute", "skip", "refuse"),
    )
    empty_rows: str = option(
        "blank",
        "Models of one class: rows to score without a value in any column get no score ('blank'), "
        "or count as outside, with the smallest p-value ('alarm').",
        COLUMNS,
        choices=("blank", "alarm"),
    )
    scale: bool | str = option(
        "auto",
        "Scale numbers to mean 0 and variance 1 (sparse: variance 1).",
        COLUMNS,
        unset="yes, unless all columns share one unit, such as pixels or TF-IDF",
        accepts='"auto" or bool',
    )
    merge_case: bool | None = option(
        None,
        "Merge values that differ only in capitals or spaces.",
        COLUMNS,
        unset="yes, with a note; in the target they are an error",
        is_recorded=True,
    )
    method: str | None = option(
        None,
        "One class: svdd-ensemble, svdd, one-class. Positive and unlabelled: pu-ensemble, pusvm. "
        f"Several classes: s3vm. Baselines: {', '.join(baselines())}.",
        MODEL,
        metavar="NAME",
        choices=tuple(METHODS),
        accepts="str",
        unset=f"svdd-ensemble, or svdd with {ref('clean', True)}; pu-ensemble if quick, else "
        "pusvm; s3vm",
    )
    target_fpr: float | str | None = parameter(
        "One class: false positive rate to calibrate for; none keeps the estimator's own "
        "threshold.",
        MODEL,
        metavar="RATE|none",
        unset=f"{TARGET_FPR}; none with {ref('nu')}",
        range=_share("'none' or a number between 0 and 1 (0.05 is 5 %)"),
        words=dict.fromkeys(("none",)),
    )
    prior: float | str | None = parameter(
        f"Share of positives, among all rows with {ref('prior_convention', 'pooled')}, else among "
        "the unlabelled rows.",
        MODEL,
        metavar="NUMBER|estimate",
        unset="estimate",
        range=_share("'estimate' or a number between 0 and 1"),
        words=dict.fromkeys(("estimate",)),
    )
    prior_convention: str | None = option(
        None,
        f"What {ref('prior')} is a share of: the unlabelled rows, or all rows (pooled).",
        PARAMETERS,
        unset="unlabeled",
        choices=("unlabeled", "pooled"),
    )
    kernel: str | Any = parameter(
        "rbf, linear, poly, sigmoid, manifold or isolation; also trees for pusvm, pu-ensemble and "
        "s3vm.",
        unset="rbf, pu-ensemble auto",
        metavar="NAME",
        accepts="str",
    )
    gamma: float | str | None = parameter(
        "Kernel width: a number, or the rule scale, auto, distance or neighbors.",
        unset="scale, s3vm distance, svdd-ensemble neighbors",
        metavar="NUMBER|RULE",
        range=Range(
            "'scale', 'auto', with s3vm 'distance', with svdd-ensemble 'neighbors', or a number "
            "from 0 on",
            lambda value: 0 <= value < _INF,
        ),
        words=dict.fromkeys(("distance", "neighbors", "scale", "auto")),
    )
    C: float | None = parameter(
        "svdd, svdd-ensemble: cost of rows outside; a smaller one leaves more rows outside. "
        "(default: 2, svdd-ensemble 0.1) s3vm: cost of labelled rows inside the margin.",
        unset="10",
        metavar="COST",
        range=_COST,
    )
    C_star: float | None = parameter(
        "s3vm: cost of unlabelled rows inside the margin.",
        unset="5",
        metavar="COST",
        range=_COST_OR_0,
    )
    balance: float | str | bool | None = parameter(
        "s3vm: mean score of the unlabelled rows: a number, the mean label, or unconstrained; "
        "'auto' is the mean label unless the rows contradict it.",
        unset="auto",
        metavar="NUMBER|auto|labels|none",
        range=Range("'auto', 'labels', 'none' or a number", lambda value: abs(value) < _INF),
        words={"auto": "auto", "labels": True, "none": False},
    )
    class_ratio: float | str | dict[Any, float] | Sequence[float] | None = parameter(
        "s3vm: share of each class among the unlabelled rows, such as "
        f"{ref('class_ratio', some=CLASS_SHARES)}; a single number is the share of the greater of "
        "two classes, and 'estimate' estimates the shares. Without it, the labels' ratio counts, "
        "unless classes have equal numbers of labels.",
        metavar="SHARES|estimate",
        range=_share("'estimate', a number between 0 and 1, or such a share for each class"),
        words=dict.fromkeys(("estimate",)),
        by_name=True,
        accepts='float, dict, sequence of float or "estimate"',
    )
    nu: float | None = parameter(
        "Upper bound on the share of training rows outside, in (0, 1]. svdd: linear slack instead "
        f"of C. (default for one-class: {ONE_CLASS_NU})",
        metavar="SHARE",
        range=Range(
            "greater than 0 (at least 1e-30) and at most 1", lambda value: 1e-30 <= value <= 1
        ),
    )
    slack: str | None = parameter(
        "svdd: penalty on the slack of rows outside.",
        unset="squared",
        choices=("squared", "linear"),
    )
    n_bags: int | None = parameter(
        "pu-ensemble, svdd-ensemble: number of bags.",
        flag="--bags",
        unset="30, svdd-ensemble 25",
        metavar="N",
        range=Range("1 or more", lambda value: value >= 1),
    )
    bag_size: int | None = parameter(
        "svdd-ensemble: maximum rows in a bag, up to 4096.",
        unset="512",
        metavar="N",
        range=Range("between 1 and 4096", lambda value: 1 <= value <= 4096),
    )
    trim: float | None = parameter(
        "svdd-ensemble: share of the most distant rows dropped from each bag.",
        unset=f"auto; 0 with {ref('clean', True)}",
        metavar="SHARE",
        range=Range("from 0 to below 1", lambda value: 0 <= value < 1),
    )
    lam: float | str | None = parameter(
        "pusvm: regularisation; larger is smoother; auto is 0.15 divided by the number of "
        "positive rows.",
        unset="auto",
        metavar="NUMBER|auto",
        range=Range("'auto' or a number greater than 0", _POSITIVE.contains),
        words=dict.fromkeys(("auto",)),
    )
    loss: str | None = parameter(
        "pusvm: loss function.", unset="double-hinge", choices=tuple(LOSSES)
    )
    sampling: str | None = parameter(
        "pusvm and pu-ensemble: whether unlabelled rows are a sample of their own. A fit with "
        "propensities takes labelled and unlabelled rows for one sample unless this is given.",
        unset="two-sample",
        choices=("one-sample", "two-sample"),
    )
    bias: float | None = parameter(
        "pusvm: bound on selection bias; the worst weights of labelled rows within this factor "
        "count.",
        unset="1",
        metavar="NUMBER",
        range=Range("1 or more", lambda value: 1 <= value < _INF),
    )
    threshold: str | None = parameter(
        "pusvm: threshold that marks the prior's share of the rows, by leave-one-out scores or by "
        "training scores, or that minimises the risk.",
        unset="leave-one-out",
        choices=("leave-one-out", "prior", "risk"),
    )
    degree: int | None = parameter(
        "Degree of poly.",
        unset="3",
        metavar="N",
        range=Range("0 or more", lambda value: value >= 0),
    )
    coef0: float | None = parameter(
        "Constant term of poly and sigmoid.",
        unset="1, one-class 0",
        metavar="NUMBER",
        range=_FINITE,
    )
    time_budget: float = option(
        DEFAULT_BUDGET,
        "Time for the whole command; large tables are sampled to fit. 0: default settings and all "
        "rows.",
        TIME,
        metavar="SECONDS",
        range=Range(
            "0 (settings as given) or a number of seconds", lambda value: 0 <= value < _INF
        ),
    )
    baselines: bool | None = option(
        None,
        "Compare with other methods in the remaining time.",
        TIME,
        unset="if there is time, and a report or labels",
    )
    candidates: Any = option(
        (),
        "Compare with this estimator, too: MODULE:CLASS.",
        TIME,
        flag="--candidate",
        metavar="NAME=CLASS",
        accepts="dict of str to estimator",
    )
    report: bool = option(True, "Whether to make a report.", shown=PYTHON)
    tol: float | None = parameter(
        "Solver tolerance.",
        LIMITS,
        unset="0.001, pu-ensemble 0.01",
        metavar="NUMBER",
        range=_POSITIVE,
    )
    max_iter: int | None = parameter(
        "Maximum iterations.",
        LIMITS,
        unset="none",
        metavar="N",
        range=Range("-1 (no limit) or more", lambda value: value >= -1),
    )
    max_time: float | None = parameter(
        "Maximum time for the fit itself.",
        LIMITS,
        unset="none",
        metavar="SECONDS",
        range=_POSITIVE,
    )
    cache_size: float | None = parameter(
        "Memory for kernel values, in MB.", LIMITS, unset="200", metavar="MB", range=_POSITIVE
    )
    memory: str | None = option(
        None,
        "Memory for training, such as 4G. svdd, one-class, pusvm and a linear s3vm learn larger "
        "tables and matrices piece by piece from disk, with settings chosen on a sample.",
        LIMITS,
        metavar="SIZE",
        unset="half of the free memory",
    )
    n_jobs: int | None = parameter(
        "Threads.",
        LIMITS,
        unset="all cores",
        metavar="N",
        range=Range("a number of threads, or -1 for all cores", lambda value: value != 0),
    )
    random_state: int | None = parameter(
        "Seed for sampling and for the class prior.",
        LIMITS,
        flag="--seed",
        metavar="N",
        range=Range("between 0 and 4294967295", lambda value: 0 <= value < 2**32),
    )
    rows: bool | None = option(
        None,
        "Store the training rows in the model so that 'fewlabels update' can add rows.",
        OUTPUT,
        unset="s3vm yes, others no",
    )
    observer: Any = option(None, "Receives progress messages.", shown=PYTHON, accepts="Observer")

    @property
    def parameters(self) -> dict[str, Any]:
        """Return parameters of estimators that were given."""
        return given_options(self, [name for name, one in FIT.items() if one.is_parameter])

    @property
    def columns(self) -> ColumnOptions:
        """Return the options of columns."""
        return ColumnOptions(
            target=self.target,
            drop=self.drop,
            categorical=self.categorical,
            keep=self.keep,
            text=self.text,
            unlabeled=self.unlabeled,
            merge_case=self.merge_case,
            dates=self.dates,
            aside=self.propensity,
            groups=self.groups,
        )

    @property
    def recorded(self) -> dict[str, Any]:
        """Return what the model file records of the options, beside the estimator's parameters."""
        names = [name for name, one in FIT.items() if one.is_recorded]
        return {name: getattr(self, name) for name in names}

    @property
    def weighing(self) -> str | None:
        """Return the option that gives labelled rows a propensity; None if none does."""
        if self.propensity is not None:
            return "propensity"
        return "selection_depends_on" if self.selection_depends_on else None

    def in_memory(self) -> Self:
        """Return these options for rows that were read from the file already."""
        of_files = [
            *options_of_schema(ReadingOptions),
            *options_of_schema(ClusterOptions),
            "memory",
        ]
        unset: dict[str, Any] = dict.fromkeys(of_files)
        return replace(self, **unset)


FIT = options_of_schema(FitOptions)


def check(**values: object) -> None:
    """Refuse values of some options that aren't allowed."""
    for name, value in values.items():
        FIT[name].check_value(name, value)
