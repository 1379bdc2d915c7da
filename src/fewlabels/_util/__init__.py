"""Threads, deadlines, warnings, messages, options, optional packages."""
