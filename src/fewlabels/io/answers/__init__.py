"""Labels that people gave, in a file beside their data: what ``fewlabels label`` writes."""
