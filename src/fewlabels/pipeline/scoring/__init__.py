"""Score the rows of tables: read a chunk, encode, score, describe, count and write it.

===============  =================================================================================
``scorer``       ``Scorer``, a model that is ready to score, and ``ScoredRows``, what it says
``counts``       what is counted while rows are scored
``chunks``       the loop: chunks of a table with what the model says of their rows
``discoveries``  the rows of a table that a false discovery rate allows to list
``layout``       ``FileLayout``: chunks and new columns as they are written
``cluster``      the same loop on the workers of a cluster
``score``        ``score`` and ``score_file``, the functions that users call
===============  =================================================================================
"""
