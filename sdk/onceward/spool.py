"""What a process must not lose: receipts not yet delivered, and grants not yet called.

A receipt that the controller did not acknowledge is written here, sealed, and delivered first when
the spool is next used. One that the controller refuses for good moves to ``dead/``; it never stands
in the way of a start, and is never thrown away.

A grant is noted when it arrives, and marked, durably, before its call is made. A process that
starts on the spool of one that died knows by this what was granted and never called, and can give
it back at once instead of waiting for its lease to end:

    grant without mark, its lane unheld, this very boot of this machine   never called: release
    anything else                                                         nothing is known

On a disk that vanishes with its machine the spool is lost with it: the outcome is then unknown, and
the controller finds out, repeats or stops as if there had been no spool.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from onceward.ports import Clock, Entropy
from onceward.sealed_folder import (
    SealedFolder,
    Sealer,
    TornError,
    make_private,
)
from onceward.spool_key import check_key, load_key
from onceward.spool_lanes import Lane, file_lock, hold_lane
from onceward.wire.identifiers import LeaseToken, OperationName, WorkflowId
from onceward.wire.receipts import Receipt

_CALLED = ".called"


class SpooledReceipt(Struct, frozen=True):
    """A receipt with all that its delivery takes.

    Attributes:
        origin: Which controller it is for, so that no other is ever asked.
        why: Why it is here.
    """

    origin: str
    workflow: WorkflowId
    operation: OperationName
    attempt: int
    lease_token: LeaseToken
    receipt: Receipt
    why: str = ""


class GrantNote(Struct, frozen=True):
    """A grant that this machine was given.

    Attributes:
        machine: Machine and boot; see ``machine_identity``.
        origin: Which controller gave it.
    """

    machine: str
    origin: str
    workflow: WorkflowId
    operation: OperationName
    attempt: int
    lease_token: LeaseToken


def machine_identity(
    machine_id: Path = Path("/etc/machine-id"),
    boot_id: Path = Path("/proc/sys/kernel/random/boot_id"),
) -> str | None:
    """Return what tells this boot of this machine from every other; None where nothing does."""
    try:
        machine, boot = machine_id.read_text("ascii").strip(), boot_id.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return f"{machine} {boot}" if machine and boot else None


class Spool:
    """One process's hold on a spool. ``Spool.open`` makes one."""

    def __init__(
        self,
        lane: Lane,
        *,
        dead: SealedFolder,
        torn: SealedFolder,
        clock: Clock,
        entropy: Entropy,
        machine: str | None,
    ) -> None:
        self._lane = lane
        self._dead = dead
        self._torn = torn
        self._clock = clock
        self._entropy = entropy
        self._machine = machine
        self._uncalled = self._read_uncalled()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Clock,
        entropy: Entropy,
        key: str | None = None,
        identity: Callable[[], str | None] = machine_identity,
    ) -> "Spool":
        """Hold a lane of the spool at ``path``.

        Args:
            path: The spool's directory, made with its parents when it is missing.
            clock: Names the files in order.
            entropy: For keys, salts and names.
            key: 64 hexadecimal digits; None to keep a random key beside the files.
            identity: Tells this boot of this machine from every other.

        Raises:
            SpoolError: Others could read it, all its lanes are held, the key is not one or not the
                one that sealed it, or this platform has no file locks.
            OSError: The system refused.
        """
        # First of all: where there are no locks, there are no owners and modes to look at either.
        lock = file_lock()
        root = Path(path).absolute()
        make_private(root)
        sealer = Sealer(load_key(root, entropy, key).reveal(), entropy)
        # Before anything is read: what another key sealed would be taken for torn.
        check_key(root, sealer, entropy)
        return cls(
            hold_lane(root, sealer, lock),
            dead=SealedFolder(root / "dead", sealer),
            torn=SealedFolder(root / "torn", sealer),
            clock=clock,
            entropy=entropy,
            machine=identity(),
        )

    @property
    def lock_descriptor(self) -> int:
        """For children that may be making a call; see ``spool_lanes.Lane``."""
        return self._lane.lock_descriptor

    def keep(self, receipt: SpooledReceipt) -> str:
        """Write ``receipt`` down, durably, and return its name here.

        Raises:
            OSError: The system refused; it is not kept.
        """
        name = self._new_name()
        self._lane.receipts.write(name, receipt)
        return name

    def replace(self, name: str, receipt: SpooledReceipt) -> None:
        """Write ``receipt`` in place of what is under ``name``.

        Raises:
            OSError: The system refused; the old one is kept.
        """
        self._lane.receipts.write(name, receipt)

    def undelivered(self, origin: str) -> list[tuple[str, SpooledReceipt]]:
        """Return the receipts for ``origin`` by name, oldest first; torn ones are set aside."""
        found: list[tuple[str, SpooledReceipt]] = []
        for name in self._lane.receipts.names():
            try:
                receipt = self._lane.receipts.read(name, SpooledReceipt)
            except TornError:
                self._lane.receipts.move_to(self._torn, name)
                continue
            if receipt.origin == origin:
                found.append((name, receipt))
        return found

    def delivered(self, name: str) -> None:
        """Forget a receipt that the controller has."""
        self._lane.receipts.remove(name)

    def bury(self, name: str) -> None:
        """Move a receipt that is refused for good to ``dead/``.

        Raises:
            OSError: The system refused; it stays where it was.
        """
        self._lane.receipts.move_to(self._dead, name)

    def set_aside(self, receipt: SpooledReceipt) -> None:
        """Write a receipt that can never be delivered into ``dead/``.

        Raises:
            OSError: The system refused.
        """
        self._dead.write(self._new_name(), receipt)

    def dead_letters(self) -> list[SpooledReceipt]:
        """Return what can never be delivered, oldest first, for a person to read."""
        letters: list[SpooledReceipt] = []
        for name in self._dead.names():
            # One that is damaged lies where it belongs already.
            with suppress(TornError):
                letters.append(self._dead.read(name, SpooledReceipt))
        return letters

    def note_grant(
        self,
        origin: str,
        workflow: WorkflowId,
        operation: OperationName,
        *,
        attempt: int,
        lease_token: LeaseToken,
    ) -> str | None:
        """Note that a grant has arrived; not durable, since without it nothing is released.

        Returns:
            The note's name; None where the machine cannot be told from others, and so nothing is
            noted.
        """
        if self._machine is None:
            return None
        name = self._new_name()
        note = GrantNote(self._machine, origin, workflow, operation, attempt, lease_token)
        self._lane.grants.write(name, note, is_durable=False)
        return name

    def mark_called(self, name: str) -> None:
        """Mark, durably, that the call is about to be made.

        Raises:
            OSError: The system refused; the call must not be made.
        """
        self._lane.grants.mark(name + _CALLED)

    def forget_grant(self, name: str) -> None:
        """Forget a grant that has come to its end."""
        # Never the mark first: a note without one says that the call was not made.
        self._lane.grants.remove(name)
        self._lane.grants.remove(name + _CALLED)

    def uncalled(self, origin: str) -> list[tuple[str, GrantNote]]:
        """Return grants of ``origin``, by name, that processes died with before they called."""
        return [(name, note) for name, note in self._uncalled.items() if note.origin == origin]

    def released(self, name: str) -> None:
        """Forget an uncalled grant that was given back, or cannot be."""
        del self._uncalled[name]
        self.forget_grant(name)

    def close(self) -> None:
        """Let go of the lane."""
        self._lane.close()

    def _read_uncalled(self) -> dict[str, GrantNote]:
        """Return what predecessors noted and never called; forget what tells nothing."""
        folder = self._lane.grants
        names = folder.names()
        marked = {name.removesuffix(_CALLED) for name in names if name.endswith(_CALLED)}
        uncalled: dict[str, GrantNote] = {}
        for name in names:
            if name.endswith(_CALLED):
                continue
            try:
                note = folder.read(name, GrantNote)
            except TornError:
                folder.move_to(self._torn, name)
                continue
            if name not in marked and self._machine is not None and note.machine == self._machine:
                uncalled[name] = note
            else:
                folder.remove(name)
        for name in marked:
            folder.remove(name + _CALLED)
        return uncalled

    def _new_name(self) -> str:
        return f"{self._clock.wall_ms():015d}-{self._entropy.take(8).hex()}"
