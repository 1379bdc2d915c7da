"""``python -m tests.hostile``, from the repository's folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hostile.run import main

if __name__ == "__main__":
    sys.exit(main())
