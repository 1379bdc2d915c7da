"""``fewlabels demo``: the main job on real data, next to scikit-learn."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..._util.messages import UserError
from ..._util.paths import is_folder, path_exists

Data = StrEnum("Data", [("digits", "digits"), ("breast_cancer", "breast-cancer")])


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Output folder.")
    ] = Path("demo-output"),
    data: Annotated[Data, typer.Option(help="One of scikit-learn's data sets.")] = Data.digits,
    digit: Annotated[int, typer.Option(min=0, max=9, help="The normal digit.")] = 8,
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the timing on 16,173 images.")
    ] = False,
) -> None:
    """Train on one class of a real data set, compare with scikit-learn and draw a picture.

    The demo trains on two thirds of the rows of one class, with the code behind 'fewlabels fit',
    and scores all other rows.
    """
    if path_exists(output) and not is_folder(output):
        raise UserError(f"{output} is a file; name a folder with --output.")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The folder {output} cannot be made: {error.strerror}.") from error

    from .run import run  # slow to import

    run(output, data.value, digit, quick)
