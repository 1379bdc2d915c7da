"""Pictures as SVG inside a page: what a fit found, scores, rates and curves."""
