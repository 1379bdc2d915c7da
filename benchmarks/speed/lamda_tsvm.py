"""LAMDA-SSL's TSVM on stored rows; runs in the environment that has it: ROWS.npz ANSWER.json."""

import json
import resource
import sys
import time
import warnings

import numpy as np
from LAMDA_SSL.Algorithm.Classification.TSVM import TSVM

warnings.simplefilter("ignore")
rows = np.load(sys.argv[1])
labeled, y, unlabeled = rows["labeled"], rows["y"].astype(int), rows["unlabeled"]
if len(np.unique(y)) != 2:
    sys.exit("two classes only")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.perf_counter()
model = TSVM()
model.fit(X=labeled, y=y, unlabeled_X=unlabeled)
predicted = model.predict(Transductive=True)
seconds = time.perf_counter() - started
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answer = {
    "predicted": np.asarray(predicted).astype(int).tolist(),
    "seconds": seconds,
    "extra_mb": (after - before) / (1e6 if sys.platform == "darwin" else 1e3),
}
with open(sys.argv[2], "w") as file:
    json.dump(answer, file)
