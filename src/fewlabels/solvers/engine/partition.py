"""What a place that holds rows has to answer: memory, a file, a worker, a GPU."""

from abc import ABC, abstractmethod


class Partition(ABC):
    """Consecutive rows of a problem (P), with all that is of their number.

    Features, variables, gradient, penalties and ridges stay where they are. What is queried and
    what is answered are plain numbers and arrays of the size of a working set. Rows go by their
    numbers among the rows of all partitions. Every message changes the state once however often
    it arrives, or says in its description that it does not.
    """

    # -- what is ------------------------------------------------------------------------------

    @abstractmethod
    def facts(self):
        """Facts about the rows."""

    @abstractmethod
    def accuracy(self):
        """Accuracy of kernel values."""

    @abstractmethod
    def totals(self):
        """Totals of the variables: sums and extremes."""

    @abstractmethod
    def gap(self, multiplier, implied):
        """These rows' part of the duality gap, see ``Penalty.gap``."""

    @abstractmethod
    def n_values(self):
        """Kernel values evaluated so far."""

    @abstractmethod
    def is_sound(self):
        """Whether the gradient belongs to the variables: no update was cut short."""

    # -- rounds -------------------------------------------------------------------------------

    @abstractmethod
    def propose(self, count):
        """The rows that want up most and those that want down most, as two Ranked."""

    @abstractmethod
    def between(self, count):
        """Numbers of the first ``count`` rows strictly between breakpoints."""

    @abstractmethod
    def used(self):
        """Numbers of the rows whose variables are not zero."""

    @abstractmethod
    def spread(self, edges, ids, g):
        """The SpreadOf the gradient over ascending ``edges``, that of the rows ``ids`` as given.

        Rows count as wide as their intervals are.
        """

    @abstractmethod
    def within(self, low, high, ids, g):
        """Gradients from ``low`` to below ``high``, and how wide the rows' intervals are.

        Rows whose interval has no width are left out; ``ids`` and ``g`` as above.
        """

    @abstractmethod
    def fetch(self, ids):
        """A WorkingSet of the rows ``ids`` that are here."""

    @abstractmethod
    def block(self, columns):
        """Kernel values between the rows of any working set, in float64.

        Here for want of a better place: ``columns`` says all.
        """

    @abstractmethod
    def update(self, update):
        """Advance variables and gradient by a BlockUpdate."""

    @abstractmethod
    def assign(self, ids, a):
        """Set variables alone; the gradient is not theirs any more."""

    # -- precision ----------------------------------------------------------------------------

    @abstractmethod
    def keep_columns(self, max_bytes):
        """Store columns of K that were evaluated, up to a bound on memory."""

    @abstractmethod
    def refine(self):
        """Continue with float64 kernel values; False where they are that already."""

    @abstractmethod
    def snap(self, near):
        """Put variables on breakpoints that they reach to within ``near``.

        K's part of the gradient stays as it is.
        """

    @abstractmethod
    def absorbs(self, amount):
        """At most one row, as Ranked, that takes ``amount`` without reaching a breakpoint.

        Of those between breakpoints the one with the lowest Q_ii.
        """

    @abstractmethod
    def shift(self, row, amount):
        """Change the variable of ``row``, if it is here. Not repeatable.

        K's part of the gradient stays as it is.
        """

    # -- a gradient that is owed ----------------------------------------------------------------

    @abstractmethod
    def begin(self):
        """Take note of the variables: from here on they move without columns of K."""

    @abstractmethod
    def owed(self):
        """How many variables have moved since ``begin``."""

    @abstractmethod
    def forget(self):
        """Set the gradient to the ridge's part, so that all of K a is owed; how many are used."""

    @abstractmethod
    def debt(self, start, count, original):
        """Columns and changes of some of those that moved, by their order.

        With ``original``, those of a sample go by the numbers of the rows it was drawn from.
        """

    @abstractmethod
    def add(self, columns, change):
        """``gradient += scale * K change``. Not repeatable."""

    @abstractmethod
    def settled(self):
        """The gradient matches the variables again."""

    # -- a sum that is not right ------------------------------------------------------------------

    @abstractmethod
    def clip(self):
        """Put variables outside their intervals on the nearest end."""

    @abstractmethod
    def rest(self):
        """Put every variable on its lower bound or, where it has none, next to zero.

        Returns the sum of all variables, and how far it can be raised and lowered.
        """

    @abstractmethod
    def fill(self, amount):
        """Move variables by ``amount`` in all, each to its end before the next. Not repeatable."""

    @abstractmethod
    def line_up(self, amount):
        """Order the rows by what a step in the direction of ``amount`` costs."""

    @abstractmethod
    def room(self, limit):
        """Room to the next breakpoints at no more than this cost."""

    @abstractmethod
    def move(self, limit, amount):
        """Move rows that cost less than ``limit`` to their next breakpoint.

        Those that cost as much move by ``amount`` in all, one after the other. Not repeatable.
        """

    # -- a sample that stands for all rows -----------------------------------------------------

    @abstractmethod
    def draw(self, n, size, seed):
        """Note which rows belong to a sample of ``size`` of n rows; how many are here."""

    @abstractmethod
    def sample(self, share, first):
        """A Partition of the rows that were drawn, numbered from ``first``.

        Each means ``share`` rows, see ``docs/the-one-problem.md``.
        """

    @abstractmethod
    def predict(self):
        """Begin a prediction: the gradient is zero, to receive the sample's function.

        What the sample knows better is held.
        """

    @abstractmethod
    def settle(self, multiplier):
        """Put every row that is not held into the state that its gradient predicts; the sum."""

    @abstractmethod
    def adopt(self):
        """End the prediction: the gradient is the sample's function and the ridge's part."""
