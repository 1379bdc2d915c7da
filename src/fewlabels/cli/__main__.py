"""``python -m fewlabels.cli``."""

from . import main

main()
