"""Estimators in the shape that other libraries ask for; each file needs its library."""
