"""Publish the document, once, however often this is run and wherever it is killed."""

import argparse
import sys
from datetime import timedelta
from pathlib import Path

import onceward as ow
from examples.publish_document import connect, tools
from onceward.wire.messages import WorkflowStatus


def run(options: argparse.Namespace, client: ow.Client) -> int:
    """Run what is ready, or find that it has been done."""
    directory: Path = options.dir
    before = client.workflow(options.workflow).status
    results = client.run(
        options.workflow, [tools.publisher(directory)], wait=timedelta(seconds=options.wait)
    )
    published = results["publish"]
    print(published["path"])
    how = "reused, nothing written" if before is WorkflowStatus.COMPLETED else "published"
    print(f"{how}: {published['bytes']} bytes, sha256 {published['sha256']}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    parser = connect.command("run", "Publish a prepared document.")
    parser.add_argument("workflow", help="what prepare printed: wf_...")
    parser.add_argument("--dir", type=Path, required=True, help="where to publish it")
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for another process's lease"
    )
    sys.exit(connect.carry_out(parser, run))
