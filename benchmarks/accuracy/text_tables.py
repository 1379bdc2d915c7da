"""Tables with texts: `fewlabels fit` and `fit_table` beside TF-IDF and scikit-learn.

Texts are drawn from small vocabularies of topics, other topics and filler, by fixed seeds; columns
beside them mean nothing unless said. Every table is made twice as long: a model learns from the
first half, most of whose rows have no label, and is judged by the second half, which it never saw:
area under the ROC curve where one class is looked for, accuracy where there are several.

tickets: 4000 rows, 40 marked "refund"; queues: three classes, 15 labels each; reviews: two kinds,
15 each; abstracts: long texts, 30 marked relevant; parts: codes, 15 labels each of two kinds;
pumps: numbers and notes, either of which alone is worse, 20 each. With --data also mini
newsgroups: 2000 posts as bags of their words, 40 of one group's 100 labelled (judged by its rest).

Baselines get what TfidfVectorizer (words and pairs, sublinear, in two texts at least; "parts":
characters) makes of the texts alone. Where one class is looked for, logistic regression and naive
Bayes take unlabelled rows for others, label spreading and self-training as many of them, drawn at
random, as there are labels.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import load_npz
from shared.common import group, pivot
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from study import Case, Setting, Study

from fewlabels import fit_table
from fewlabels.pipeline import score

FILLER = (
    "i we the a to of and is was in on it with for this that please my our your today yesterday "
    "again still just hello hi thanks thank you team dear best regards since when"
).split()
TOPICS = {
    "refund": "refund money back return charged payment amount reimburse credit card cancel order "
    "invoice billed twice wrong item paid",
    "login": "password login account reset locked email code verify sign access username browser "
    "error page authentication",
    "delivery": "package delivery courier tracking late address parcel arrived shipment damaged "
    "box driver door warehouse order item",
    "invoice": "invoice billing vat tax receipt payment charged amount company address number "
    "copy paid credit card",
    "bug": "app crash screen error update version button freeze loading page phone click browser "
    "slow save",
    "good": "great excellent love perfect happy recommend quality fast works beautiful well again",
    "bad": "broke broken poor waste disappointed slow cheap never useless wrong return noisy",
    "leak": "leak seal drip wet oil puddle gasket pressure",
    "study": "trial patients randomised placebo dose cohort treatment outcome clinical therapy",
    "theory": "theorem bound proof convergence lemma operator norm convex algebra spectrum",
}
TOPICS = {name: words.split() for name, words in TOPICS.items()}
EVERY_WORD = sorted({word for words in TOPICS.values() for word in words})


def text(rng, topic, length, share):
    """A text: words of its topic, of any topic and of none."""
    kinds = rng.choice(3, int(rng.integers(*length)), p=[share, 0.12, 0.88 - share])
    words = [rng.choice((TOPICS.get(topic, FILLER), EVERY_WORD, FILLER)[kind]) for kind in kinds]
    return " ".join(words).capitalize() + "."


def tickets(rng, n):
    classes = np.where(rng.random(n) < 0.15, "refund", "")
    others = rng.choice(["login", "delivery", "invoice", "bug"], n)
    topics = np.where(classes == "refund", classes, others)
    table = {
        "ticket_id": np.arange(100_000, 100_000 + n),
        "created": pd.date_range("2024-01-01", periods=n, freq="37min").strftime("%Y-%m-%d %H:%M"),
        "channel": rng.choice(["mail", "web", "phone", "chat"], n, p=[0.5, 0.3, 0.1, 0.1]),
        "priority": rng.choice([1, 2, 3], n, p=[0.2, 0.5, 0.3]),
        "customer": [f"C{k:05d}" for k in rng.integers(0, 1500, n)],
        "message": [text(rng, topic, (8, 40), 0.24) for topic in topics],
    }
    return pd.DataFrame(table), classes


def queues(rng, n):
    classes = rng.choice(["login", "delivery", "bug"], n)
    table = {
        "channel": rng.choice(["mail", "web", "phone"], n),
        "message": [text(rng, topic, (8, 30), 0.2) for topic in classes],
    }
    return pd.DataFrame(table), classes


def reviews(rng, n):
    classes = rng.choice(["good", "bad"], n)
    table = {
        "stars_of_shop": rng.integers(1, 6, n),
        "review": [text(rng, topic, (6, 30), 0.15) for topic in classes],
    }
    return pd.DataFrame(table), classes


def abstracts(rng, n):
    classes = np.where(rng.random(n) < 0.25, "study", "")
    topics = np.where(classes == "study", classes, "theory")
    table = {
        "year": rng.integers(1990, 2025, n),
        "title": [text(rng, topic, (4, 8), 0.1) for topic in topics],
        "abstract": [text(rng, topic, (60, 160), 0.04) for topic in topics],
    }
    return pd.DataFrame(table), classes


def parts(rng, n):
    classes = rng.choice(["pump", "valve"], n)
    stem = {"pump": ["PX7", "KP-2", "HYD"], "valve": ["VL3", "KV-2", "GAT"]}
    codes = [f"{rng.choice(stem[k])}{rng.integers(0, 10**5):05d}/{rng.choice(list('ABC'))}"
             for k in classes]  # fmt: skip
    return pd.DataFrame({"code": codes, "weight": rng.normal(size=n).round(2)}), classes


def pumps(rng, n):
    """Broken pumps: half of what tells them is in the numbers, half in the note."""
    broken = rng.random(n) < 0.5
    seen = rng.random(n) < 0.7
    table = {f"sensor{k}": (rng.normal(size=n) + 0.6 * broken).round(3) for k in range(3)}
    table["site"] = rng.choice(list("abcd"), n)
    table["note"] = [text(rng, "leak" if b and s else "", (5, 15), 0.15)
                     for b, s in zip(broken, seen, strict=True)]  # fmt: skip
    return pd.DataFrame(table), np.where(broken, "broken", "fine")


# Table: its maker, rows, labels of a class, columns of texts, options.
# Table: its maker, rows, labels of a class, columns of texts, options.
TABLES = {
    "tickets": (tickets, 4000, 40, ["message"], {}),
    "queues": (queues, 1200, 15, ["message"], {}),
    "reviews": (reviews, 1200, 15, ["review"], {}),
    "abstracts": (abstracts, 800, 30, ["title", "abstract"], {}),
    "parts": (parts, 800, 15, ["code"], {"text": ["code"]}),
    "pumps": (pumps, 1000, 20, ["note"], {}),
}
NEWSGROUPS = (1000, 40, ["post"], {})


def newsgroups(folder, rng, n, group=14):
    """Posts as bags of their words; one group is looked for."""
    counts = load_npz(Path(folder) / "mini_newsgroups_X.npz").tocsr()
    with np.load(Path(folder) / "mini_newsgroups_y.npz") as file:
        y, words, groups = file["y"], file["vocabulary"], file["groups"]
    rows = rng.permutation(counts.shape[0])[: 2 * n]
    posts = []
    for row in rows:
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        bag = np.repeat(words[counts.indices[part]], counts.data[part].astype(int))
        posts.append(" ".join(rng.permutation(bag)))
    return pd.DataFrame({"post": posts}), np.where(y[rows] == group, str(groups[group]), "")


def labelled(rng, classes, n_train, each):
    """The target of the first half: so many labels of every class, the rest blank."""
    target = np.full(n_train, "", dtype=object)
    for name in sorted(set(classes) - {""}):
        of_class = np.flatnonzero(classes[:n_train] == name)
        target[rng.choice(of_class, min(each, len(of_class)), replace=False)] = name
    return target


def judge(classes, labels, scores):
    """Area where one class is looked for, accuracy where there are several."""
    if "" in classes:
        return roc_auc_score(classes != "", scores)
    return float(np.mean(labels == classes))


def baselines(train, target, test, classes, columns, characters):
    """Scores of TF-IDF and scikit-learn's classifiers."""
    how = {"analyzer": "char_wb", "ngram_range": (2, 4)} if characters else {"ngram_range": (1, 2)}
    texts = [part[columns].agg(" ".join, axis=1) for part in (train, test)]
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, **how).fit(texts[0])
    X, Z = (tfidf.transform(part) for part in texts)
    one_class = "" in classes
    known = np.ones(len(target), bool) if one_class else target != ""
    methods = {
        "logistic regression": LogisticRegression(class_weight="balanced", max_iter=1000),
        "naive Bayes": MultinomialNB(alpha=0.1),
    }
    found = {}
    for name, method in methods.items():
        method.fit(X[known], target[known].astype(str))
        found[name] = _judged(method, Z, classes)
    y = target.astype(object)
    y[target == ""] = -1
    if one_class:
        # As many rows of the pile as there are labels are taken for others.
        pile = np.flatnonzero(target == "")
        y[np.random.default_rng(3).choice(pile, np.sum(target != ""), replace=False)] = ""
    names = sorted(set(classes))
    y = np.array([names.index(name) if name in names else -1 for name in y])
    methods = {
        "label spreading": LabelSpreading(kernel="knn", n_neighbors=10),
        "self-training": SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
    }
    for name, method in methods.items():
        dense = name == "label spreading"
        method.fit(X.toarray() if dense else X, y)
        found[name] = _judged(method, Z.toarray() if dense else Z, classes, np.array(names))
    return found


def _judged(method, Z, classes, names=None):
    known = method.classes_ if names is None else names[method.classes_]
    if "" not in classes:
        return judge(classes, known[method.predict_proba(Z).argmax(axis=1)], None)
    return judge(classes, None, method.predict_proba(Z)[:, list(known).index("") - 1])


def by_command(train, target, test, classes, seconds, asked):
    """The command line, from a file to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = {
            name: str(Path(folder) / name) for name in ("train.csv", "test.csv", "m.fewlabels")
        }
        train.assign(target=target).to_csv(path["train.csv"], index=False)
        test.to_csv(path["test.csv"], index=False)
        columns = [word for name in asked.get("text", ()) for word in ("--text", name)]
        command = [sys.executable, "-m", "fewlabels.cli", "fit", path["train.csv"], "--target",
                   "target", "-o", path["m.fewlabels"], "--time-budget", str(seconds),
                   "--no-report", "-q", *columns]  # fmt: skip
        subprocess.run(command, check=True)
        return _answers(score(path["m.fewlabels"], path["test.csv"]), classes)


def by_notebook(train, target, test, classes, seconds, asked):
    """``fit_table``, and what it says of the weight of texts."""
    found = fit_table(
        train.assign(target=target), "target", time_budget=seconds, report=False, **asked
    )
    texts = found.metadata["training"]["texts"]
    return _answers(found.predict(test), classes), None if texts is None else texts["weight"]


def _answers(answers, classes):
    return judge(classes, answers["label"].to_numpy(), answers["score"].to_numpy())


@lru_cache(maxsize=1)
def made(folder, name, is_quick):
    """Training rows with a target, test rows and their classes; columns of texts, options."""
    rng = np.random.default_rng(0)
    if name == "newsgroups":
        n, each, columns, asked = NEWSGROUPS
        frame, classes = newsgroups(folder, rng, 300 if is_quick else n)
    else:
        make, n, each, columns, asked = TABLES[name]
        frame, classes = make(rng, 2 * (max(200, n // 8) if is_quick else n))
    n_train = len(frame) // 2
    target = labelled(np.random.default_rng(2), classes, n_train, each)
    return (frame[:n_train], target, frame[n_train:], classes[n_train:]), columns, asked


def measure(folder, name, method, seconds, is_quick):
    """Areas or accuracies of a method, or of all baselines."""
    rows, columns, asked = made(folder, name, is_quick)
    what, started = "area" if "" in rows[3] else "accuracy", time.perf_counter()
    about = {"measure": what, "rows": len(rows[0]), "labels": int(np.sum(rows[1] != ""))}
    if method == "baselines":
        found = baselines(*rows, columns, "text" in asked)
        return [{"by": by, "value": value, **about} for by, value in found.items()]
    if method == "command line":
        found = [("command line", by_command(*rows, seconds, asked), None)]
    else:
        found = [("fit_table", *by_notebook(*rows, seconds, asked))]
        if name == "pumps":  # either half of what separates the classes
            others = [name for name in rows[0] if name not in columns]
            for by, dropped in (("texts alone", others), ("without texts", columns)):
                part = (rows[0].drop(columns=dropped), *rows[1:])
                found.append((by, *by_notebook(*part, seconds, {})))
    about["seconds"] = time.perf_counter() - started
    return [{"by": by, "value": value, "texts_weigh": weight, **about}
            for by, value, weight in found]  # fmt: skip


def cases(options):
    for name in options.sets:
        if name == "newsgroups" and options.data is None:
            continue
        for method in ("command line", "fit_table", "baselines"):
            yield Case({"table": name, "method": method}, measure,
                       (options.data, name, method, options.seconds, options.quick))  # fmt: skip


def report(results):
    yield "ROC AUC where one class is looked for, accuracy where there are several."
    yield pivot(results.records, ("table", "measure", "rows", "labels"), "by", "value")


def entries(results):
    shown = ["fit_table", "logistic regression", "naive Bayes", "label spreading",
             "self-training"]  # fmt: skip
    rows = []
    for name, some in group(results.records, "table").items():
        values = {r["by"]: r["value"] for r in some}
        first = some[0]
        rows.append([name, f"{first['rows']}, {first['labels']}", first["measure"],
                     *(values.get(by) for by in shown)])  # fmt: skip
    return [results.entry(
        "text-tables", ["rows, labels", "measure", "fewlabels", *shown[1:]], rows, label="table",
        unit="ROC AUC or accuracy", formats=["", "", *[".3f"] * 5],
    )]  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries, data="optional",
    choices={"sets": [*TABLES, "newsgroups"]},
    settings={"seconds": Setting(20.0, "time budget of a fit")},
    quick={"sets": ["queues", "pumps"], "seconds": 2.0},
)  # fmt: skip
