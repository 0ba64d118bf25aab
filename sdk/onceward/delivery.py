"""A receipt's way to the controller, however long it takes.

    tidy ─▶ pack ─▶ complete ──accepted──▶ done
             │         ├──unavailable, outcome unknown──▶ again, until patience ends ─▶ spool
             │         └──refused for good──▶ dead letters of the spool; the refusal is raised
             └──the upload of a large result fails──▶ as above, unpacked

Where the spool's disk refuses as well, the same error says that the receipt is nowhere, and has the
disk's refusal as its cause.

Once packed, a receipt is never packed again: the second upload would have another digest, and a
second receipt that differs from one that may have arrived is a conflict. What is sent for an
attempt is therefore always the same bytes.
"""

from dataclasses import dataclass
from threading import Lock

import msgspec

from onceward.controller import Controller
from onceward.patience import Patience
from onceward.ports import Clock, Entropy
from onceward.results import pack
from onceward.spool import Spool, SpooledReceipt
from onceward.wire.decisions import Granted
from onceward.wire.identifiers import WorkflowId
from onceward.wire.limits import SECOND_MS
from onceward.wire.messages import Begin, Complete, Completed, Release
from onceward.wire.problems import (
    DeniedError,
    ProblemCode,
    ProblemError,
    UnavailableError,
    UnknownWriteError,
)
from onceward.wire.receipts import Receipt

WINDOW_MS = 30 * SECOND_MS
"""How long a call to the controller is tried again."""

_UNANSWERED = frozenset({ProblemCode.NOT_REACHED, ProblemCode.UNREACHABLE})
_NOWHERE = (
    "neither delivered nor kept, since the spool's disk refused, and the effect may have happened"
)
_CREDENTIAL = frozenset(
    {ProblemCode.CREDENTIAL_MISSING, ProblemCode.CREDENTIAL_INVALID, ProblemCode.ROLE_DENIED}
)


@dataclass(frozen=True, slots=True)
class Flushed:
    """What became of receipts that were waiting.

    Attributes:
        delivered: The controller has them.
        refused: Refused for good and moved to the dead letters.
        waiting: Still here.
    """

    delivered: int = 0
    refused: int = 0
    waiting: int = 0


class UndeliveredError(UnavailableError):
    """A receipt could not be delivered in time; the message says where it is.

    Attributes:
        is_ambiguous: It may have arrived all the same, and with it a grant.
    """

    is_ambiguous = False


@dataclass(frozen=True, slots=True)
class Delivered:
    """The controller has the receipt.

    Attributes:
        receipt: As it was sent, its result where it fits.
        completed: What the controller said.
        sent_ms: Boot time from before the question that it answered was sent.
        is_ambiguous: An earlier try may have arrived, and with it an earlier grant.
    """

    receipt: Receipt
    completed: Completed
    sent_ms: int
    is_ambiguous: bool


class Delivery:
    """Delivers the receipts of one client.

    Args:
        controller: Where to.
        clock: Counts the time and waits.
        entropy: Draws the pauses.
        spool: Where receipts wait; None to lose what cannot be delivered in time.
        origin: Which controller this is, in the spool's words.
        window_ms: How long one receipt is tried.
    """

    def __init__(
        self,
        controller: Controller,
        clock: Clock,
        entropy: Entropy,
        *,
        spool: Spool | None,
        origin: str,
        window_ms: int = WINDOW_MS,
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._entropy = entropy
        self._spool = spool
        self._origin = origin
        self._window_ms = window_ms
        self._flushing = Lock()

    def complete(
        self, workflow: WorkflowId, grant: Granted, receipt: Receipt, then_begin: Begin | None
    ) -> Delivered:
        """Hand in the tidy ``receipt`` of the attempt that ``grant`` permitted.

        Raises:
            UndeliveredError: It could not be delivered; it is in the spool, if there is one and its
                disk took it.
            ProblemError: The controller refused it for good; it is among the spool's dead letters,
                likewise.
        """
        patience = Patience(self._clock, self._entropy, self._window_ms)
        is_ambiguous = False
        try:
            while True:
                try:
                    receipt = self._packed(workflow, receipt)
                    sent_ms = self._clock.boottime_ms()
                    body = Complete(grant.attempt, grant.lease_token, receipt, then_begin)
                    completed = self._controller.complete(workflow, grant.operation, body)
                    return Delivered(receipt, completed, sent_ms, is_ambiguous)
                except (UnavailableError, UnknownWriteError) as error:
                    is_ambiguous |= isinstance(error, UnknownWriteError)
                    if not patience.pause():
                        raise
        except (UnavailableError, UnknownWriteError) as error:
            full = self._keep(workflow, grant, receipt, error)
            undelivered = self._undelivered(error, full, is_ambiguous=is_ambiguous)
            raise undelivered from full or error
        except ProblemError as refusal:
            full = self._keep(workflow, grant, receipt, refusal)
            if full is None:
                raise
            detail = f"{refusal.detail}; the receipt is {_NOWHERE}"
            raise type(refusal)(refusal.code, detail, **refusal.more) from full
        except BaseException as interrupt:
            # Interrupted from outside. The receipt may have arrived; sent again it is the same one.
            full = self._keep(workflow, grant, receipt, None)
            if full is None:
                raise
            interrupt.add_note(f"the receipt is {_NOWHERE}")
            raise interrupt from full

    def set_aside(self, workflow: WorkflowId, grant: Granted, receipt: Receipt, why: str) -> None:
        """Keep, for a person, a receipt that came after another one was sent for its attempt."""
        if self._spool is not None:
            self._spool.set_aside(self._spooled(workflow, grant, receipt, why))

    def flush(self) -> Flushed:
        """Try, once each, to deliver what waits, and give back what was never called.

        Nothing here stops a start: what cannot be delivered now waits, and what is refused for good
        is set aside.

        Raises:
            OSError: The spool's disk refused.
        """
        if self._spool is None or not self._flushing.acquire(blocking=False):
            return Flushed()
        try:
            return self._flush(self._spool)
        finally:
            self._flushing.release()

    def _flush(self, spool: Spool) -> Flushed:
        delivered = refused = 0
        undelivered = spool.undelivered(self._origin)
        for name, spooled in undelivered:
            try:
                self._deliver(spool, name, spooled)
            except ProblemError as error:
                if error.code in _UNANSWERED:
                    # Nor would it be for the next one; a start does not wait for each in turn.
                    return Flushed(delivered, refused, len(undelivered) - delivered - refused)
                if not _may_pass_later(error):
                    spool.bury(name)
                    refused += 1
            else:
                spool.delivered(name)
                delivered += 1
        self._release_uncalled(spool)
        return Flushed(delivered, refused, len(undelivered) - delivered - refused)

    def _deliver(self, spool: Spool, name: str, spooled: SpooledReceipt) -> None:
        packed = self._packed(spooled.workflow, spooled.receipt)
        if packed is not spooled.receipt:
            # On disk first: should the reply be lost, exactly this is sent again.
            spool.replace(name, msgspec.structs.replace(spooled, receipt=packed))
        body = Complete(spooled.attempt, spooled.lease_token, packed)
        self._controller.complete(spooled.workflow, spooled.operation, body)

    def _release_uncalled(self, spool: Spool) -> None:
        for name, note in spool.uncalled(self._origin):
            body = Release(note.attempt, note.lease_token)
            try:
                self._controller.release(note.workflow, note.operation, body)
            except ProblemError as error:
                if _may_pass_later(error):
                    continue
            spool.released(name)

    def _packed(self, workflow: WorkflowId, receipt: Receipt) -> Receipt:
        return pack(receipt, lambda content: self._controller.upload_result(workflow, content))

    def _keep(
        self, workflow: WorkflowId, grant: Granted, receipt: Receipt, error: ProblemError | None
    ) -> OSError | None:
        """Keep what was not delivered, and return what the disk said if it cannot be kept."""
        if self._spool is None:
            return None
        why = "interrupted" if error is None else error.code.value
        spooled = self._spooled(workflow, grant, receipt, why)
        try:
            if error is None or _may_pass_later(error):
                self._spool.keep(spooled)
            else:
                self._spool.set_aside(spooled)
        except OSError as full:
            return full
        return None

    def _spooled(
        self, workflow: WorkflowId, grant: Granted, receipt: Receipt, why: str
    ) -> SpooledReceipt:
        return SpooledReceipt(
            self._origin, workflow, grant.operation, grant.attempt, grant.lease_token, receipt, why
        )

    def _undelivered(
        self, error: ProblemError, full: OSError | None, *, is_ambiguous: bool
    ) -> UndeliveredError:
        if full is not None:
            where = f"it is {_NOWHERE}"
        elif self._spool is None:
            where = "it ends with this process: give the client a spool to keep such receipts in"
        else:
            where = "it is safe in the spool and is delivered first next time"
        undelivered = UndeliveredError(
            error.code, f"the receipt could not be delivered; {where}: {error.detail}", **error.more
        )
        undelivered.is_ambiguous = is_ambiguous
        return undelivered


def _may_pass_later(error: ProblemError) -> bool:
    """Return whether the same call can still be taken, later or with another credential."""
    if isinstance(error, UnavailableError | UnknownWriteError):
        return True
    return isinstance(error, DeniedError) and error.code in _CREDENTIAL
