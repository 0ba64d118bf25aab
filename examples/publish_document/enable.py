"""Show a person what the workflow would do, then let it run."""

import argparse
import sys

import onceward as ow
from examples.publish_document import connect


def enable(options: argparse.Namespace, client: ow.Client) -> int:
    """Print what is reviewed, and enable."""
    for operation in client.workflow(options.workflow).operations:
        print(f"{operation.name}: {operation.tool} version {operation.version}")
        print(f"  goes to     {operation.destination}")
        for name, value in operation.arguments.items():
            print(f"  {name:<11} {value}")
        print(f"  guarantee   {operation.guarantee}")
    workflow = client.enable(options.workflow)
    print(f"{workflow.status}: {workflow.id}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    parser = connect.command("enable", "Review a prepared publication and let it run.")
    parser.add_argument("workflow", help="what prepare printed: wf_...")
    sys.exit(connect.carry_out(parser, enable))
