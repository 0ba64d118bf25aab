"""What one transition changed. State is the fold of these, in order; nothing else is stored.

Events say what was decided, not what was asked: they hold resolved numbers and times, and
``evolve`` needs no clock. They are stored as tagged arrays; a field may be added at the end with a
default, none may be moved or removed.
"""

from msgspec import Struct

from onceward.wire.decisions import Mode
from onceward.wire.definitions import Operations
from onceward.wire.receipts import Outcome
from onceward_controller.protocol.plan import Identity


class Created(Struct, frozen=True, array_like=True, tag=1):
    """The workflow exists. Always alone in revision 1."""

    identity: Identity
    operations: Operations
    digest: str


class Enabled(Struct, frozen=True, array_like=True, tag=2):
    """An operator let it run, for the first time or after a pause."""


class Paused(Struct, frozen=True, array_like=True, tag=3):
    """An operator stopped dispatch; live attempts may still report."""


class Abandoned(Struct, frozen=True, array_like=True, tag=4):
    """A person gave up the workflow, or the one operation at ``at``."""

    at: int | None
    evidence: str


class Granted(Struct, frozen=True, array_like=True, tag=5):
    """One attempt was licensed; durable before anybody hears of it.

    Attributes:
        idempotency_key: On the first grant only; every later attempt uses the stored one.
    """

    at: int
    number: int
    mode: Mode
    request_id: str
    lease_until_ms: int
    call_before_ms: int
    idempotency_key: str | None = None


class Renewed(Struct, frozen=True, array_like=True, tag=6):
    """The holder has more time."""

    at: int
    number: int
    lease_until_ms: int


class Released(Struct, frozen=True, array_like=True, tag=7):
    """The holder says that the call was never made."""

    at: int
    number: int


class Reported(Struct, frozen=True, array_like=True, tag=8):
    """A receipt came in.

    Attributes:
        accepted: Whether it completes anything, or is kept as evidence only.
        conclusive: For a query's "absent": whether every issued call had landed by then.
        receipt: Its canonical bytes.
        reason: The tool's words on why it is no success, cut to ``REASON_CHARACTERS_KEPT``.
    """

    at: int
    number: int
    outcome: Outcome
    accepted: bool
    conclusive: bool
    effect_id: str | None
    receipt_sha256: bytes
    receipt: bytes
    reason: str = ""


class Noticed(Struct, frozen=True, array_like=True, tag=9):
    """Somebody looked, and found what no event tells. Changes what a listing shows, no more.

    Attributes:
        needs_person: Whether a person must decide; else an attempt's lease ran out in silence.
    """

    at: int
    needs_person: bool


class Attested(Struct, frozen=True, array_like=True, tag=10):
    """A person said what happened, with evidence.

    Attributes:
        receipt: For a success the canonical bytes that later reads return.
    """

    at: int
    outcome: Outcome
    evidence: str
    effect_id: str | None = None
    receipt: bytes = b""


Event = (
    Created
    | Enabled
    | Paused
    | Abandoned
    | Granted
    | Renewed
    | Released
    | Reported
    | Noticed
    | Attested
)
