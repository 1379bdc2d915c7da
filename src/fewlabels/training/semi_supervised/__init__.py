"""Training of the semi-supervised SVM: annealing, branch and bound, where a path begins."""
