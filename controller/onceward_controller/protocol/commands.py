"""What may be asked of a workflow that exists; ``decide`` answers each."""

from msgspec import Struct

from onceward.wire import messages


class Begin(Struct, frozen=True):
    """May I run this, or the next that is ready?"""

    ask: messages.Begin


class Complete(Struct, frozen=True):
    """Here is what came of it, and may I run the next?

    Attributes:
        receipt: The canonical bytes of ``body.receipt``, made once outside the loop that decides.
        receipt_sha256: Their digest.
    """

    operation: str
    body: messages.Complete
    receipt: bytes
    receipt_sha256: bytes


class Renew(Struct, frozen=True):
    """I need more time."""

    operation: str
    body: messages.Renew


class Release(Struct, frozen=True):
    """I never made the call."""

    operation: str
    body: messages.Release


class Enable(Struct, frozen=True):
    """Let it run."""


class Pause(Struct, frozen=True):
    """Dispatch nothing more."""


class Resolve(Struct, frozen=True):
    """A person says what happened.

    Attributes:
        receipt: For a success the canonical bytes that later reads return.
    """

    operation: str
    body: messages.Resolve
    receipt: bytes = b""


class Abandon(Struct, frozen=True):
    """A person gives it up."""

    body: messages.Abandon


class Check(Struct, frozen=True):
    """Has anything come to need a person while nobody asked?"""


Command = Begin | Complete | Renew | Release | Enable | Pause | Resolve | Abandon | Check
