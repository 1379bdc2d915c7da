"""The look of pages: colours in light and dark, pictures, and a report itself."""

from importlib.resources import files


def _read(*path: str) -> str:
    return files(__package__).joinpath(*path).read_text(encoding="utf-8")


# For every page with pictures.
PICTURE_STYLE = _read("colours.css") + _read("pictures", "style.css")
# For a report.
STYLE = PICTURE_STYLE + _read("style.css")
