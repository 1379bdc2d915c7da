"""``fewlabels demo``: its data, its picture and its timing."""
