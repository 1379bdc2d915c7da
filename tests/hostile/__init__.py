"""Hostile cases: inputs, parameters, files and commands that nobody should pass, from seeds."""
