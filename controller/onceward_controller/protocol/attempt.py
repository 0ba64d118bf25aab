"""One granted try, and what its holder reported, as the state remembers them."""

from msgspec import Struct

from onceward.wire.decisions import Mode
from onceward.wire.receipts import Outcome


class Report(Struct, frozen=True, array_like=True):
    """A receipt as the state remembers it; its bytes lie in the revision that brought it.

    Attributes:
        accepted: Whether it completed anything, or is evidence only.
        at_ms: Trusted time of its arrival; 0 where no time was to be believed.
        revision: Where its bytes lie.
        overruled: A person saw it and decided otherwise.
        reason: The tool's words on why it is no success, as far as they are kept at hand.
    """

    outcome: Outcome
    accepted: bool
    effect_id: str | None
    sha256: bytes
    at_ms: int
    revision: int
    overruled: bool = False
    reason: str = ""


class Attempt(Struct, frozen=True, array_like=True):
    """One granted try.

    Attributes:
        released: The holder said that the call was never made.
    """

    number: int
    mode: Mode
    request_id: str
    granted_ms: int
    lease_until_ms: int
    call_before_ms: int
    renewals: int = 0
    released: bool = False
    report: Report | None = None

    @property
    def is_effect(self) -> bool:
        """Whether this attempt may perform the effect."""
        return self.mode is not Mode.QUERY

    @property
    def has_ended(self) -> bool:
        """Whether its holder has spoken."""
        return self.released or self.report is not None

    def accepted(self, outcome: Outcome) -> bool:
        """Return whether its receipt counts and says ``outcome``."""
        return self.report is not None and self.report.accepted and self.report.outcome is outcome
