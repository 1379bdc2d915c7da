"""Solvers as their papers print them: references that the engine is measured against."""
