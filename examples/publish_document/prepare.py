"""Write down what is to be published: the workflow, and nothing of the effect yet.

Run twice it is the same workflow, found by its key. Run after the document was changed it is
refused, because the key names the old content: publishing something else is new work, with a key of
its own.
"""

import argparse
import sys
from pathlib import Path

import onceward as ow
from examples.publish_document import connect, tools


def prepare(options: argparse.Namespace, client: ow.Client) -> int:
    """Create the workflow, or find it."""
    document: Path = options.document
    directory: Path = options.dir
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    operation = tools.publisher(directory).operation("publish", tools.arguments_for(document))
    workflow = client.create(
        options.key or f"publish {document.name}", [operation], label=f"publish {document.name}"
    )
    print(workflow.id)
    print(f"prepared, {workflow.status}: {document.name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    parser = connect.command("prepare", "Prepare the publication of one document.")
    parser.add_argument("document", type=Path, help="what to publish")
    parser.add_argument("--dir", type=Path, required=True, help="where to publish it")
    parser.add_argument("--key", help="what the work is known by; the document's name by default")
    sys.exit(connect.carry_out(parser, prepare))
