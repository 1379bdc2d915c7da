"""What a training does for each task: a module for each, with the same functions.

``roles`` says which rows of a file are learnt from and as what, ``choose`` picks the method,
``for_rows`` turns settings in the user's words into settings for these rows,
``why_tuned`` says how settings were chosen, ``figures`` go into the model file,
``in_words`` says in lines what they say of the rows, and ``answer`` says what scores mean.
"""

from ...tasks.classification import CLASSIFICATION
from ...tasks.machines import task_of
from ...tasks.one_class import ONE_CLASS
from ...tasks.positive_unlabelled import POSITIVE_UNLABELLED
from . import classification, one_class, positive_unlabelled

_MODULES = {
    ONE_CLASS: one_class,
    POSITIVE_UNLABELLED: positive_unlabelled,
    CLASSIFICATION: classification,
}


def steps_of(machine):
    """The steps of the task that a method learns."""
    return _MODULES[task_of(machine)]
