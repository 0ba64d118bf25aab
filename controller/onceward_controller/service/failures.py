"""Where failures of the store and the vault become refusals that a caller can act on.

The one boundary: below it errors say what is true of the store, above it what the caller must do.
Which is why a failure to read is told in two ways: before anything was written nothing happened,
and after it what was asked for is recorded, whether its answer can be shown or not.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from onceward.sealing import IntegrityError
from onceward.wire.problems import ProblemCode, UnavailableError, problem
from onceward_controller.vault import store


@contextmanager
def told_to_the_caller() -> Iterator[None]:
    """Raise every failure of store and vault as the problem that says what to do.

    Raises:
        ProblemError: The block raised ``StoreError`` or ``IntegrityError``.
    """
    try:
        yield
    except store.UnavailableError as error:
        raise problem(
            ProblemCode.STORE_UNAVAILABLE, f"the store did not answer: {error}"
        ) from error
    except store.OutcomeUnknownError as error:
        raise problem(
            ProblemCode.STORE_OUTCOME_UNKNOWN, f"the store may have written: {error}"
        ) from error
    except store.RefusedError as error:
        raise problem(ProblemCode.STORE_REFUSED, f"the store refuses: {error}") from error
    except store.ConflictError as error:
        raise problem(ProblemCode.CONTENTION, "others were first too many times") from error
    except IntegrityError as error:
        raise problem(ProblemCode.INTEGRITY, f"stored bytes are damaged: {error}") from error


@contextmanager
def told_after_the_write() -> Iterator[None]:
    """Raise what fails in showing the state after a write, never as if nothing had happened.

    Raises:
        ProblemError: As ``told_to_the_caller``; an outage is told as ``store_outcome_unknown``.
    """
    try:
        with told_to_the_caller():
            yield
    except UnavailableError as error:
        raise problem(
            ProblemCode.STORE_OUTCOME_UNKNOWN,
            f"it is recorded, and what came of it could not be read: {error.detail}",
        ) from error
