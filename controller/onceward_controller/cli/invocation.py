"""Options that every command takes, before or after its name.

``onceward --json workflows list`` and ``onceward workflows list --json`` are the same: at three in
the morning nobody remembers which options are global. Where both are given, the later one wins.

``@shared`` adds the options to a command's signature, which typer reads, and hands the command one
``Invocation`` in their place.
"""

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from onceward_controller.cli.terminal.output import Output

P = ParamSpec("P")

DEFAULT_PROFILE = "default"
DEFAULT_WORKSPACE = "default"


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """What the options said, and where to write.

    Attributes:
        url: The controller's address, where one was given.
        profile: The name of the profile to look the address up in.
        vault: The folder of an embedded vault to work on directly.
        workspace_given: What ``--workspace`` said.
        workspace_default: The workspace where it said nothing.
    """

    url: str | None = None
    profile: str = DEFAULT_PROFILE
    vault: Path | None = None
    workspace_given: str | None = None
    workspace_default: str = DEFAULT_WORKSPACE
    output: Output = field(default_factory=Output)

    @property
    def workspace(self) -> str:
        """The workspace that listings and new workflows belong to."""
        return self.workspace_default if self.workspace_given is None else self.workspace_given

    def command(self, *words: str, in_workspace: bool = False) -> str:
        """Return a command line that reaches the same controller as this one, to be copied."""
        where: list[str] = []
        if self.url is not None:
            where += ["--url", self.url]
        if self.vault is not None:
            where += ["--vault", str(self.vault)]
        if self.profile != DEFAULT_PROFILE:
            where += ["--profile", self.profile]
        if in_workspace and self.workspace != DEFAULT_WORKSPACE:
            where += ["--workspace", self.workspace]
        return shlex.join(["onceward", *where, *words])


Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The controller's address [env: ONCEWARD_URL]."),
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="The profile that `up` wrote.", hidden=True),
]
Vault = Annotated[
    Path | None,
    typer.Option("--vault", metavar="DIR", help="Work on the vault in DIR, without a server."),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace", metavar="NAME", help="The workspace [env: ONCEWARD_WORKSPACE; `default`]."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Data as JSON, on a terminal too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but data and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more about what is done.")]


def _options(
    ctx: typer.Context,
    *,
    url: Url = None,
    vault: Vault = None,
    workspace: Workspace = None,
    profile: Profile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Invocation:
    """Return what was said so far: by the options here, over those before."""
    before: Invocation = ctx.obj
    return Invocation(
        url=before.url if url is None else url,
        profile=before.profile if profile is None else profile,
        vault=before.vault if vault is None else vault,
        workspace_given=before.workspace_given if workspace is None else workspace,
        workspace_default=before.workspace_default,
        output=before.output.changed(as_json=as_json, quiet=quiet, verbose=verbose),
    )


_SHARED = inspect.signature(_options).parameters


def shared(command: Callable[Concatenate[Invocation, P], None]) -> Callable[..., None]:
    """Return ``command`` with the shared options in the place of its first parameter."""

    @functools.wraps(command)
    def called(ctx: typer.Context, **given: Any) -> None:  # noqa: ANN401 - any option of any command
        own = {name: value for name, value in given.items() if name not in _SHARED}
        invocation = _options(ctx, **{name: given[name] for name in given if name in _SHARED})
        ctx.obj = invocation
        command(invocation, **own)  # type: ignore[call-arg]  # typer calls by the signature below

    own = list(inspect.signature(command).parameters.values())[1:]
    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # read by inspect
        [_SHARED["ctx"], *keywords, *list(_SHARED.values())[1:]]
    )
    called.__annotations__ = {each.name: each.annotation for each in [*_SHARED.values(), *keywords]}
    return called
