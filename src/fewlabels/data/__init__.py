"""What users pass, checked: labels of each task, units of columns."""
