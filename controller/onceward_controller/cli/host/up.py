"""``onceward up``: a controller on an embedded store, on loopback, in the foreground."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from onceward.exit_codes import ExitCode
from onceward.system import SystemClock
from onceward.wire import limits
from onceward.wire.problems import ProblemError
from onceward_controller.cli import private_file, profile
from onceward_controller.cli.host import place, running, tokens
from onceward_controller.cli.invocation import DEFAULT_PROFILE, Invocation, shared
from onceward_controller.cli.profile import Profile
from onceward_controller.cli.refusal import Refusal
from onceward_controller.settings import FolderStore

if TYPE_CHECKING:
    from onceward_controller.service.service import Service

LOOPBACK = "127.0.0.1"
TTL_MS = 90 * limits.DAY_MS
RENEW_MS = 30 * limits.DAY_MS
"""A token that dies sooner than this is replaced when a controller starts."""


class Serving(Struct, frozen=True):
    """What a script needs in order to use the controller that has just begun to listen."""

    url: str
    data: str
    token_file: str
    profile: str


@shared
def up(
    invocation: Invocation,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Where everything lies [~/.local/share/onceward]."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65_535, help="0 takes any that is free [8686]."),
    ] = None,
) -> None:
    """Run a controller here: embedded store, loopback, until Ctrl-C. Makes a vault at first."""
    folder = (data or profile.default_data()).absolute()
    _make_folder(folder)
    where = place.settings(
        str(folder), FolderStore(folder).key_file, endpoint_url=None, host=LOOPBACK, port=port
    )
    is_new = not FolderStore(folder).file.exists()
    _require_free(invocation.profile, folder)
    with (
        running.ended_by_sigterm(),
        profile.serving(folder, SystemClock()),
        running.listen(LOOPBACK, where.port) as listener,
    ):
        from onceward_controller.bootstrap import open_embedded_service

        service = open_embedded_service(folder)
        try:
            known = _admitted(service, invocation.profile, folder, running.url_of(listener))
            _announce(invocation, known, is_new=is_new)
            running.host(service, where, listener)
        finally:
            service.close()
            invocation.output.note("controller ended; everything is durable")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(
            ExitCode.FAILED, f"cannot make the folder: {error.strerror}: `{folder}`", "--data DIR"
        ) from None


def _require_free(name: str, folder: Path) -> None:
    """Return if no running controller of another folder is found by this profile."""
    try:
        known = profile.load(name)
    except ValueError as error:
        raise Refusal(ExitCode.USAGE, str(error), "give its name: --profile NAME") from None
    if known is not None and Path(known.data) != folder and profile.is_served(Path(known.data)):
        raise Refusal(
            ExitCode.CONFLICT,
            f"the profile `{name}` leads to a running controller: data=`{known.data}`",
            "give this one a profile of its own: --profile NAME",
        )


def _admitted(service: "Service", name: str, folder: Path, url: str) -> Profile:
    """Write the profile, with a token that the other commands can use for a while."""
    now_ms = SystemClock().wall_ms()
    before = profile.load(name)
    is_same = before is not None and Path(before.data) == folder
    expires_ms = before.token_expires_ms if before is not None and is_same else 0
    token_file = folder / profile.TOKEN_NAME
    if expires_ms - now_ms < RENEW_MS or not _is_good(service, token_file):
        created = tokens.administrator(service, ttl_ms=TTL_MS)
        private_file.write(token_file, f"{created.token}\n", replace=True)
        expires_ms = created.expires_ms
    known = Profile(url=url, data=str(folder), token_expires_ms=expires_ms)
    profile.save(name, known)
    return known


def _is_good(service: "Service", token_file: Path) -> bool:
    text = private_file.read(token_file)
    try:
        return text is not None and bool(service.credentials.authenticate(text.strip()))
    except ProblemError:
        return False


def _announce(invocation: Invocation, known: Profile, *, is_new: bool) -> None:
    serving = Serving(
        url=known.url,
        data=known.data,
        token_file=str(known.token_file),
        profile=invocation.profile,
    )
    # A token is shown to a person only: what is piped from a service ends in a log.
    token = private_file.read(known.token_file) if is_new and not invocation.output.is_json else ""

    def drawing() -> object:
        from onceward_controller.cli.terminal import sheet

        facts = [
            ("controller", known.url),
            ("everything in", known.data),
            ("token file", str(known.token_file)),
        ]
        shown = [sheet.token(token.strip())] if token else []
        return sheet.below(sheet.facts(facts), *shown, "")

    invocation.output.data(serving, drawing)
    if is_new:
        invocation.output.note("A new vault: keep a copy of vault.key somewhere else.")
    asked = "" if invocation.profile == DEFAULT_PROFILE else f" --profile {invocation.profile}"
    invocation.output.note(f"Ctrl-C ends it. In another terminal: onceward{asked} status")
