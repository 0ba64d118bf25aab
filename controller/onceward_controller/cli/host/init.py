"""``onceward init``: a vault, the key file that opens it, and the first administrator's token."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import UNSET, Struct, UnsetType

from onceward.exit_codes import ExitCode
from onceward_controller.cli import private_file
from onceward_controller.cli.host import place, tokens
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.terminal import moments

if TYPE_CHECKING:
    from onceward_controller.settings import Settings


class Made(Struct, frozen=True):
    """What ``init`` made.

    Attributes:
        token: The administrator's, unless it was written to a file.
        token_file: That file.
    """

    store: str
    key_file: str
    token_expires_ms: int
    token: str | UnsetType = UNSET
    token_file: str | UnsetType = UNSET


@shared
def init(
    invocation: Invocation,
    *,
    store: place.StoreOption = None,
    key_file: place.KeyFile = None,
    endpoint_url: place.EndpointUrl = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="Write the token there (0600), unshown."),
    ] = None,
) -> None:
    """Make a vault, its key file and an administrator's token. Overwrites nothing."""
    where = place.settings(store, key_file, endpoint_url)
    if token_file is not None and token_file.exists():
        raise Refusal(
            ExitCode.CONFLICT,
            f"the token file exists and is not overwritten; nothing was made: `{token_file}`",
            "name another: --token-file FILE",
        )
    _make(where)
    with place.opened(where) as service:
        created = tokens.administrator(service, ttl_ms=tokens.FIRST_TTL_MS)
    if token_file is not None:
        private_file.write(token_file, f"{created.token}\n", replace=False)
    made = Made(
        store=place.name_of(where),
        key_file=str(where.key_file),
        token_expires_ms=created.expires_ms,
        token=created.token if token_file is None else UNSET,
        token_file=UNSET if token_file is None else str(token_file),
    )
    invocation.output.data(made, lambda: _drawing(made))
    invocation.output.note(
        "Keep a copy of the key file where the store is not: without it nobody opens the vault."
    )
    invocation.output.note(f"  next: {_next(where)}")


def _make(where: "Settings") -> None:
    from onceward_controller import bootstrap

    where.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    opened = bootstrap.open_store(where.store)
    try:
        bootstrap.create_vault(opened, where.key_file)
    finally:
        opened.close()


def _next(where: "Settings") -> str:
    from onceward_controller.settings import FolderStore

    name = place.name_of(where)
    if not isinstance(where.store, FolderStore):
        words = ["onceward", "serve", "--store", name, "--key-file", str(where.key_file)]
        if where.store.endpoint_url is not None:
            words += ["--endpoint-url", where.store.endpoint_url]
        return shlex.join(words)
    return shlex.join(["onceward", "up", "--data", name])


def _drawing(made: Made) -> object:
    from onceward_controller.cli.terminal import sheet

    facts = [
        ("store", made.store),
        ("key file", made.key_file),
        ("token file", made.token_file or ""),
        ("token ends", moments.clock(made.token_expires_ms)),
    ]
    shown = [sheet.token(made.token)] if made.token else []
    return sheet.below(sheet.facts(facts), *shown, "")
