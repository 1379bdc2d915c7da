"""How to use a model, as code to copy."""

import shlex
from pathlib import Path

from ..io.formats.extensions import is_compressed

# ``found`` is what ``fit_table`` gave.
_IN_MEMORY = [
    ("Score new rows", "scored = new.join(found.predict(new))"),
    ("Save the model (the command line reads it too)", 'found.save("model.fewlabels")'),
    ("Save this report", 'found.report.save("report.html")'),
]


def usage(metadata, model_path, file, findings):
    """What can be done with a model, and the commands or Python; no path for one not saved."""
    if model_path is None:
        return _IN_MEMORY
    model, data = Path(model_path).name, file.name
    suffix = "".join(Path(data).suffixes[-2:]) if is_compressed(data) else Path(data).suffix
    new, quoted = f"new{suffix}", shlex.quote(model)
    code = [("Score new rows", f"fewlabels predict {quoted} {new} -o scored.csv")]
    if findings.rankings and len(findings.rankings[0].rows):
        row = int(findings.rankings[0].rows["row"].iloc[0])
        command = f"fewlabels explain {quoted} {shlex.quote(data)} --row {row}"
        code.append(("Why a row has its score", command))
    if metadata["training"].get("rows_held"):
        title = "Add rows, with or without labels, without refitting"
        code.append((title, f"fewlabels update {quoted} more{suffix}"))
    code.append(("Show what the model contains", f"fewlabels inspect {quoted}"))
    # A file is read as the model was fitted: pandas would guess other types.
    python = f'answers = jobs.score({model!r}, {new!r})\nscores = answers["score"]'
    code.append(("From Python", f"from fewlabels import jobs\n\n{python}"))
    return code
