"""The operator's program, ``onceward``: one module a noun, and nothing heavy until it is needed.

    app             the commands, mounted; one place where every failure becomes words and a code
    invocation      options that every command takes, before or after its name
    address         which controller, which token; profile and private_file, where they lie
    connection      a controller to talk to: over HTTP (remote), or a vault on this host
    failures        every failure as words and a code; advice, what to do next; refusal, the words
    status          standing, what is found; status_sheet, the screen
    credential      tokens
    workflows/      looking, acting, deciding
    host/           init, up, serve, doctor: for whoever holds the host
    terminal/       data on stdout, everything else on stderr, and how it looks
    demo/           a worker is killed, and nothing happens twice

typer belongs to the controller's extra. Without it this package still imports, and says so.
"""

import sys

_INTERRUPTED = 130
_MISSING = """\
onceward: the operator's program needs the controller's dependencies, which are not installed
  next: pip install "onceward[controller]"
"""


def main() -> None:
    """Run the program and end the process with its exit code."""
    try:
        from onceward_controller.cli.app import run
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        sys.stderr.write(_MISSING)
        sys.exit(1)
    except KeyboardInterrupt:  # Ctrl-C before there was anything to interrupt.
        sys.exit(_INTERRUPTED)
    sys.exit(run(sys.argv[1:]))
