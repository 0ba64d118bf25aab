"""What the demo's workers run. They import this file by its path, and nothing else of the demo.

    publish-document    into a directory that can be asked afterwards whether it is there
    post-letter         into an outbox that cannot be asked, and that knows no keys
    file-copy           of the letter, once it is known to be out

These are ordinary tools on ordinary files but for one line: ``_hold_still``, which lets the demo
kill a worker in the one moment that matters, after the effect and before anybody heard of it. No
other file of this project has such a line.
"""

import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import onceward as ow
from onceward.destinations import DirectoryPublisher, Published

PLACE_VARIABLE = "ONCEWARD_DEMO_PLACE"
HOLD_VARIABLE = "ONCEWARD_DEMO_HOLD"
PUBLISHED, OUTBOX, COPIES = "published", "outbox", "copies"
LETTERS_MAX = 1_000

LEASE = timedelta(seconds=2)
"""Short, so that nobody has to wait long in a demo; two minutes is the default."""
MAX_IN_FLIGHT = timedelta(seconds=1)
"""A process that was killed writes no more; a second is plenty on one machine."""


def document_arguments(place: Path, document: Path, content: bytes) -> dict[str, Any]:
    """Return the arguments that publish ``document`` while it holds ``content``.

    A document in the demo's folder is named as it lies there: the folder can then be moved.
    """
    path = document.absolute()
    return {
        "document": str(path.relative_to(place) if path.is_relative_to(place) else path),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }


def publisher(place: Path) -> ow.Tool:
    """Return the tool that publishes into the demo's ``published`` folder."""
    destination = DirectoryPublisher(place / PUBLISHED)

    @ow.tool(
        "publish-document",
        destination=f"demo:{PUBLISHED}",
        query=_finder(destination, ".md"),
        lease=LEASE,
        max_in_flight=MAX_IN_FLIGHT,
    )
    def publish(call: ow.Call) -> ow.Receipt:
        content = (place / call.arguments["document"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != call.arguments["sha256"]:
            raise ow.NotExecuted("the document is no longer the one that was reviewed")
        published = destination.publish(call.operation_id, content, ".md")
        _hold_still()
        return _receipt(call, published)

    return publish


def poster(place: Path) -> ow.Tool:
    """Return the tool that posts a letter: each call posts one more."""

    @ow.tool(
        "post-letter",
        destination=f"demo:{OUTBOX}",
        lease=LEASE,
        max_in_flight=MAX_IN_FLIGHT,
    )
    def post(call: ow.Call) -> ow.Receipt:
        for number in range(1, LETTERS_MAX):
            letter = place / OUTBOX / f"letter-{number}.txt"
            try:
                with letter.open("x", encoding="utf-8") as file:
                    file.write(call.arguments["text"])
            except FileExistsError:
                continue
            _hold_still()
            return call.succeeded(effect_id=letter.name)
        raise ow.NotExecuted("the outbox is full")

    return post


def copier(place: Path) -> ow.Tool:
    """Return the tool that files a copy of a letter."""
    destination = DirectoryPublisher(place / COPIES)

    @ow.tool(
        "file-copy",
        destination=f"demo:{COPIES}",
        query=_finder(destination, ".txt"),
        lease=LEASE,
        max_in_flight=MAX_IN_FLIGHT,
    )
    def file_copy(call: ow.Call) -> ow.Receipt:
        content = str(call.arguments["text"]).encode("utf-8")
        return _receipt(call, destination.publish(call.operation_id, content, ".txt"))

    return file_copy


def _finder(destination: DirectoryPublisher, suffix: str) -> Callable[[ow.Call], ow.Receipt]:
    def find(call: ow.Call) -> ow.Receipt:
        """Read back what lies under the operation's name."""
        found = destination.find(call.operation_id, suffix)
        if found is None:
            return call.not_executed("nothing lies under the operation's name")
        return _receipt(call, found)

    return find


def _receipt(call: ow.Call, published: Published) -> ow.Receipt:
    expected = call.arguments.get("sha256", published.sha256)
    if published.sha256 != expected:
        return call.unknown("the operation's name holds another document")
    return call.succeeded(
        effect_id=published.path.name,
        result={
            "path": f"{published.path.parent.name}/{published.path.name}",
            "sha256": published.sha256,
            "bytes": published.bytes,
        },
    )


def _hold_still() -> None:
    """Tell the demo that the effect is there, then wait to be killed; once for each process.

    For the demo alone. Without its variable, in every worker but the one to be killed, this does
    nothing.
    """
    descriptor = os.environ.pop(HOLD_VARIABLE, None)
    if descriptor is not None:
        os.write(int(descriptor), b"\n")
        Event().wait()


if PLACE_VARIABLE in os.environ:
    # What a worker finds when it imports this file.
    _PLACE = Path(os.environ[PLACE_VARIABLE])
    publish_document, post_letter, file_copy = publisher(_PLACE), poster(_PLACE), copier(_PLACE)
