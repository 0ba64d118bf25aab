"""The options that all three commands share: which controller, and where documents go."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import onceward as ow

Command = Callable[[argparse.Namespace, ow.Client], int]


def command(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the shared options.

    Args:
        program: The module's name, for the usage line.
        description: What it does, in a sentence.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m examples.publish_document.{program}", description=description
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--vault", type=Path, help="a folder: the controller runs in this process")
    where.add_argument("--url", help="a controller's address; its token is in ONCEWARD_TOKEN")
    return parser


def carry_out(parser: argparse.ArgumentParser, work: Command) -> int:
    """Parse the command line, do ``work`` with a client, and return the exit code.

    A refusal is told in a line, with the code that `onceward` would end with.
    """
    options = parser.parse_args()
    try:
        with _client(options) as client:
            return work(options, client)
    except ow.Stopped as error:
        return _refused(3, f"{error.reason}: {error.detail}")
    except ow.ConflictError as error:
        return _refused(5, f"{error.code}: {error.detail}")
    except ow.NotFoundError as error:
        return _refused(6, f"{error.code}: {error.detail}")
    except ow.ProblemError as error:
        return _refused(1, f"{error.code}: {error.detail}")
    except OSError as error:
        return _refused(1, str(error))


def _client(options: argparse.Namespace) -> ow.Client:
    if options.vault is not None:
        return ow.Client.embedded(options.vault)
    return ow.Client(options.url, os.environ.pop("ONCEWARD_TOKEN", ""))


def _refused(code: int, why: str) -> int:
    print(why, file=sys.stderr)
    return code
