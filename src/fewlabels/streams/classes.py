"""The name under which model files and pickles hold streams of several classes."""

from .semi_supervised import S3VMStream


class ClassStreams(S3VMStream):
    """An ``S3VMStream``, as versions before there was one kind of stream saved it."""
