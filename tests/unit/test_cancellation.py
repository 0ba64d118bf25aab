"""How a tool learns that its answer is no longer waited for."""

import threading

from onceward.call import Cancellation


def test_who_waits_is_told() -> None:
    cancelled = Cancellation()
    told: list[bool] = []
    tool = threading.Thread(target=lambda: told.append(cancelled.wait()))
    tool.start()

    cancelled.set()
    tool.join()

    assert told == [True]


def test_who_was_told_before_does_not_wait() -> None:
    cancelled = Cancellation()
    cancelled.set()

    assert cancelled.is_set()
    assert cancelled.wait()


def test_who_is_not_told_waits_no_longer_than_asked() -> None:
    cancelled = Cancellation()

    assert not cancelled.wait(0)
    assert not cancelled.is_set()
