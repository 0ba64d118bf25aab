"""One tool: it publishes a document into a directory, and can tell afterwards whether it did.

The arguments are what a person reviews before the workflow is enabled: which document, and by its
SHA-256 exactly which content. A document that was changed after that is not published.

The directory is the destination. It is part of the declaration, and so of the review: a worker
that would publish elsewhere is not given the work.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import onceward as ow
from onceward.destinations import DirectoryPublisher, Published, UnsafeDirectoryError

DIRECTORY_VARIABLE = "PUBLISH_DIR"

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,16}")


def arguments_for(document: Path) -> dict[str, Any]:
    """Return the arguments that publish ``document`` as it is now.

    Raises:
        OSError: It cannot be read.
    """
    content = document.read_bytes()
    return {
        "document": str(document.absolute()),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }


def publisher(directory: Path) -> ow.Tool:
    """Return the tool that publishes into ``directory``, which must exist."""
    destination = DirectoryPublisher(directory)

    def find(call: ow.Call) -> ow.Receipt:
        """Read back what lies under the operation's name, and compare all of it."""
        found = destination.find(call.operation_id, _suffix(call.arguments))
        if found is None:
            return call.not_executed("nothing is published under the operation's name")
        if found.sha256 != call.arguments["sha256"]:
            return call.unknown("the operation's name holds another document")
        return _receipt(call, found)

    @ow.tool(
        "publish-document",
        version="1",
        destination=f"directory:{directory.absolute()}",
        query=find,
        # Whoever writes is a process on this machine, or on one that mounts the directory: once it
        # was killed, nothing of it is under way any more.
        max_in_flight=timedelta(seconds=10),
        timeout=timedelta(seconds=30),
    )
    def publish(call: ow.Call) -> ow.Receipt:
        """Publish the document that was reviewed, or say for certain that nothing was."""
        content = Path(call.arguments["document"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != call.arguments["sha256"]:
            raise ow.NotExecuted("the document is no longer the one that was prepared")
        try:
            published = destination.publish(call.operation_id, content, _suffix(call.arguments))
        except UnsafeDirectoryError as error:
            raise ow.NotExecuted(str(error)) from error
        return _receipt(call, published)

    return publish


def _receipt(call: ow.Call, published: Published) -> ow.Receipt:
    return call.succeeded(
        effect_id=published.path.name,
        result={
            "path": str(published.path),
            "sha256": published.sha256,
            "bytes": published.bytes,
        },
    )


def _suffix(arguments: Mapping[str, Any]) -> str:
    suffix = Path(arguments["document"]).suffix
    return suffix if _SUFFIX.fullmatch(suffix) else ""


# What `onceward-worker run examples/publish_document/tools.py` finds.
publish = publisher(Path(os.environ.get(DIRECTORY_VARIABLE, "published")))
