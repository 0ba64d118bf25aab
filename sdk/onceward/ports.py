"""The ports through which everything impure enters.

Code asks for a ``Clock``, an ``Entropy`` or a ``Spawner`` and never reads the time, makes random
bytes or starts a thread itself: a test, and later a simulator, then decides what time it is, which
bytes are random and when a thread runs. ``onceward.system`` holds the real ones. The fourth port,
the store, belongs to the vault (``onceward_controller.vault.store``).
"""

from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Two clocks that disagree when someone moves one of them, and a way to wait."""

    def wall_ms(self) -> int:
        """Return the host's idea of Unix time, in milliseconds; it may jump either way."""
        ...

    def boottime_ms(self) -> int:
        """Return milliseconds since boot, suspend included; it never goes back."""
        ...

    def sleep(self, duration_ms: int) -> None:
        """Return once ``duration_ms`` milliseconds of boot time have passed."""
        ...


class Entropy(Protocol):
    """Random bytes."""

    def take(self, size: int) -> bytes:
        """Return ``size`` unpredictable bytes."""
        ...


class Task(Protocol):
    """Work that was started elsewhere."""

    def join(self, timeout_ms: int | None = None) -> bool:
        """Wait until the work returned; False when ``timeout_ms`` ran out first."""
        ...


class Spawner(Protocol):
    """Starts work beside the caller."""

    def spawn(self, name: str, work: Callable[[], None]) -> Task:
        """Start ``work`` on a thread of its own that does not keep the process alive."""
        ...
