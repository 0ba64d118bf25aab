"""How long to try again, and how soon.

Full jitter: each pause is drawn evenly between nothing and a ceiling that doubles. Clients that
failed together then come back apart, and the mean load falls as fast as the ceilings rise.
"""

from onceward.ports import Clock, Entropy
from onceward.wire.limits import SECOND_MS

CEILING_FIRST_MS = 50
CEILING_LAST_MS = 2 * SECOND_MS

_DRAW_BYTES = 4


class Patience:
    """Pauses between the tries of one call, until its time is up.

    Args:
        clock: Counts the time and waits.
        entropy: Draws the pauses.
        window_ms: After so many milliseconds of boot time there is no further try.
    """

    def __init__(self, clock: Clock, entropy: Entropy, window_ms: int) -> None:
        self._clock = clock
        self._entropy = entropy
        self._until_ms = clock.boottime_ms() + window_ms
        self._ceiling_ms = CEILING_FIRST_MS

    def pause(self) -> bool:
        """Wait before the next try; False, at once, when its time is up."""
        left_ms = self._until_ms - self._clock.boottime_ms()
        if left_ms <= 0:
            return False
        drawn = int.from_bytes(self._entropy.take(_DRAW_BYTES), "big") / 256**_DRAW_BYTES
        self._clock.sleep(min(int(drawn * (self._ceiling_ms + 1)), left_ms))
        self._ceiling_ms = min(2 * self._ceiling_ms, CEILING_LAST_MS)
        return True
