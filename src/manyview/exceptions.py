"""All exceptions and warnings of manyview."""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = [
    "CheckpointError",
    "ClusterError",
    "ConvergenceWarning",
    "DataWarning",
    "DeclinedError",
    "EngineUnavailableError",
    "FetchError",
    "MemoryLimitError",
    "ModelFileError",
    "NotEnoughSamplesError",
    "NotFittedError",
    "ViewError",
]


class ViewError(ValueError):
    """The views are inconsistent, or contain values that cannot be clustered."""


class NotEnoughSamplesError(ViewError):
    """There are fewer samples than the method needs."""


class DeclinedError(RuntimeError):
    """A method refuses a task; the message names the limit that would be exceeded."""


class EngineUnavailableError(ImportError):
    """An optional library is missing; the message names the extra to install."""


class FetchError(OSError):
    """A data set could not be fetched; the message says what to do next."""


class ModelFileError(ValueError):
    """A model cannot be saved or loaded; the message says what was expected and what to do."""


class CheckpointError(ValueError):
    """A fit cannot be resumed; the message says what differs and what to do."""


class MemoryLimitError(MemoryError):
    """A fit would need more than `memory_limit`; nothing was computed yet."""


class ClusterError(RuntimeError):
    """A cluster of computers cannot go on with a fit; the message says what to do."""


class DataWarning(UserWarning):
    """The data can be clustered, but something in them is probably unintended."""
