"""Does this store keep the promises that authority rests on? Ask it, and believe what it does.

A store that accepts two creates of one name licenses a double effect, and several that call
themselves S3-compatible do: some ignore the condition, some check and then act, one honours it on
plain buckets and not on versioned ones. So the controller probes the very bucket it is about to
use, and refuses one that fails.

    race       creates of a fresh name, started together, round after round: one winner each
    again      a create of a name that was read: a conflict, and the first content stays
    listing    fresh objects appear at once and in byte order
    paging     ``after`` and ``limit`` walk through them without a gap
    blank      the content goes, the name stays taken
    delete     the object goes, and deleting it again is no error
    time       there, plausible, and not running backwards

The probe can prove a store wrong, never right: one that checks and then acts may come well out of
every race it is given. It works under ``probe/<random>/`` and removes what it made; those names are
never used again.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from onceward.ports import Entropy, Spawner
from onceward_controller.vault.probe.questions import BrokenPromiseError, Examination
from onceward_controller.vault.store import RefusedError, Store

ROUNDS = 5
RACERS = 4
"""Enough to tell; on SeaweedFS a race can take whole seconds, because its losers poll a lock."""

_USE_ANOTHER = "use a plain bucket without versions, or another store"


class Finding(msgspec.Struct, frozen=True):
    """What one question to the store brought out.

    Attributes:
        name: The question, as in the table above.
        ok: Whether the store kept the promise.
        is_safety: Whether a store that breaks it must not be used.
        seen: What the store did.
        advice: What a person should do; empty when all is well.
    """

    name: str
    ok: bool
    is_safety: bool
    seen: str
    advice: str


class ProbeReport(msgspec.Struct, frozen=True):
    """Every finding, in the order of the questions."""

    findings: tuple[Finding, ...]

    @property
    def is_safe(self) -> bool:
        """Whether the store may be used."""
        return all(finding.ok or not finding.is_safety for finding in self.findings)


def probe(store: Store, entropy: Entropy, spawner: Spawner) -> ProbeReport:
    """Examine a store before it is used.

    Returns:
        The findings; those that are not ok are no danger to authority.

    Raises:
        RefusedError: The store breaks a promise that authority rests on, or refuses requests.
        UnavailableError: The store could not be examined now.
        OutcomeUnknownError: The store's answers kept getting lost.
    """
    report = examine(store, entropy, spawner)
    if not report.is_safe:
        broken = "; ".join(
            f"{finding.name}: {finding.seen}: {finding.advice}"
            for finding in report.findings
            if finding.is_safety and not finding.ok
        )
        raise RefusedError(f"the store is not safe to use: {broken}")
    return report


def examine(
    store: Store, entropy: Entropy, spawner: Spawner, *, rounds: int = ROUNDS, racers: int = RACERS
) -> ProbeReport:
    """Ask every question and report the answers, good or bad.

    Args:
        store: The store to examine; objects are made and removed in it.
        entropy: Keeps the names of this examination apart from any other's.
        spawner: Runs the racers.
        rounds: How many races to hold, 1 or more.
        racers: How many creates to start together in each, 2 or more.

    Raises:
        RefusedError: The store refuses requests.
        UnavailableError: The store could not be examined now.
        OutcomeUnknownError: The store's answers kept getting lost.
    """
    examination = Examination(store, entropy.take(16).hex(), spawner, racers)
    try:
        return ProbeReport(
            (
                _ask("race", partial(examination.race, rounds), _USE_ANOTHER),
                _ask("again", examination.again, _USE_ANOTHER),
                _ask("listing", examination.listing, _USE_ANOTHER),
                _ask("paging", examination.paging, _USE_ANOTHER),
                _ask("blank", examination.blank, "switch off versions and locks on the bucket"),
                _ask("delete", examination.delete, "allow deletion", is_safety=False),
                _ask("time", examination.time, "correct the store's clock"),
            )
        )
    finally:
        examination.clean_up()


def _ask(name: str, question: Callable[[], str], advice: str, *, is_safety: bool = True) -> Finding:
    try:
        seen = question()
    except BrokenPromiseError as broken:
        return Finding(name, ok=False, is_safety=is_safety, seen=str(broken), advice=advice)
    return Finding(name, ok=True, is_safety=is_safety, seen=seen, advice="")
