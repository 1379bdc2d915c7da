"""What a user may ask for: every option declared once, and the sentences that name options.

An option is a field of a dataclass, with its type, default, range and help text. The command line,
the signature and docstring of :func:`fewlabels.fit_table`, validation and the model file's record
are derived from it.
"""
