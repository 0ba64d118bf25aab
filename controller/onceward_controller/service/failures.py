"""Where failures of the store and the vault become refusals that a caller can act on.

The one boundary: below it errors say what is true of the store, above it what the caller must do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from onceward.sealing import IntegrityError
from onceward.wire.problems import ProblemCode, problem
from onceward_controller.vault import store


@contextmanager
def told_to_the_caller() -> Iterator[None]:
    """Raise every failure of store and vault as the problem that says what to do."""
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
