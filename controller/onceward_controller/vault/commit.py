"""The commit rule: how to know that a create was ours when the reply was lost.

    success                     ours
    conflict, nothing in doubt  another's
    outcome unknown             send the same bytes under the same name again, then
        success                 ours
        conflict                read, and compare: our bytes, ours; other bytes, another's

A read that shows nothing proves nothing: a delayed write may still land. That is why the bytes are
sealed once and sent as they are: whichever of our tries lands, it is the same revision. Sealing
draws a fresh salt, so equal bytes come from one sealing and from no other.
"""

from onceward.ports import Clock, Entropy
from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    RefusedError,
    Store,
    Stored,
    UnavailableError,
)

DEADLINE_MS = 8_000
"""How long one create is tried; below the time after which a request is answered anyway."""
BACKOFF_FIRST_MS = 25
BACKOFF_CAP_MS = 1_000


def create_once(store: Store, name: str, body: bytes, clock: Clock, entropy: Entropy) -> int:
    """Create ``name`` with ``body``, and find out whether it was us.

    Args:
        store: Where.
        name: Never used before by anyone who is not us.
        body: Sealed bytes that nobody else can produce.
        clock: Paces the tries and ends them after ``DEADLINE_MS``.
        entropy: Spreads the tries of many processes.

    Returns:
        The store's time, in milliseconds.

    Raises:
        ConflictError: The name holds another's bytes.
        OutcomeUnknownError: Time ran out, or the store refused, in doubt; the bytes may be there
            now or later.
        UnavailableError: Time ran out, and nothing was written.
        RefusedError: Nothing was written, and a person must act.
    """
    deadline_ms = clock.boottime_ms() + DEADLINE_MS
    in_doubt = False
    attempt = 0
    while True:
        try:
            return store.create(name, body)
        except ConflictError:
            if not in_doubt:
                raise
            found = _read(store, name, clock, deadline_ms)
            if found is None:
                raise OutcomeUnknownError(f"taken, and not readable: name=`{name}`") from None
            if found.body != body:
                raise
            return found.time_ms
        except OutcomeUnknownError:
            in_doubt = True
            if clock.boottime_ms() >= deadline_ms:
                raise
        except UnavailableError as error:
            if clock.boottime_ms() >= deadline_ms:
                if in_doubt:
                    raise OutcomeUnknownError(str(error)) from error
                raise
        except RefusedError as error:
            if in_doubt:
                # It refuses this try; what became of an earlier one it does not say.
                raise OutcomeUnknownError(str(error)) from error
            raise
        clock.sleep(_pause_ms(attempt, entropy))
        attempt += 1


def _read(store: Store, name: str, clock: Clock, deadline_ms: int) -> Stored | None:
    while True:
        try:
            return store.get(name)
        except RefusedError as error:
            raise OutcomeUnknownError(str(error)) from error
        except UnavailableError as error:
            if clock.boottime_ms() >= deadline_ms:
                raise OutcomeUnknownError(str(error)) from error
            clock.sleep(BACKOFF_FIRST_MS)


def _pause_ms(attempt: int, entropy: Entropy) -> int:
    """Return a wait drawn evenly from zero to a ceiling that doubles ("full jitter")."""
    ceiling = min(BACKOFF_FIRST_MS << min(attempt, 16), BACKOFF_CAP_MS)
    return int.from_bytes(entropy.take(4)) * ceiling >> 32
