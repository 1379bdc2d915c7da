"""Labels that people gave, in a file next to their data: what ``fewlabels label`` writes."""
