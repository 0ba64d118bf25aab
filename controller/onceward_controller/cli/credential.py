"""``onceward credential``: tokens, made once and shown once.

Over HTTP with an administrator's token; or on the host, with ``--store`` and ``--key-file`` or
``--vault``, where whoever can read the key file needs no token and no server.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol

import typer

from onceward.controller import Controller
from onceward.exit_codes import ExitCode
from onceward.system import SystemClock
from onceward.wire import messages
from onceward.wire.identifiers import WorkspaceName, is_name
from onceward.wire.tokens import Role
from onceward_controller.cli import address, connection
from onceward_controller.cli.host import place
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.terminal import moments, prompts
from onceward_controller.cli.workflows import prefixes
from onceward_controller.settings import FolderStore

credential_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Tokens for operators, workers and administrators.",
)


@credential_app.callback()
def _credential() -> None:
    pass


class Issued(StrEnum):
    """Roles that a credential can be made for."""

    OPERATOR = Role.OPERATOR.value
    WORKER = Role.WORKER.value
    ADMIN = Role.ADMIN.value


class _Maker(Protocol):
    def __call__(self, body: messages.CreateCredential, /) -> messages.CredentialCreated: ...


@credential_app.command("create")
@shared
def create(  # noqa: PLR0913 - one parameter for each option
    invocation: Invocation,
    *,
    role: Annotated[Issued, typer.Option("--role", help="What it is for.")],
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="ID", help="A worker's one workflow.")
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option("--principal", metavar="NAME", help="Whom the history shows [the role]."),
    ] = None,
    ttl: Annotated[str, typer.Option("--ttl", help="How long it is good: 30m, 8h, 7d.")] = "8h",
    token_only: Annotated[
        bool, typer.Option("--token-only", help="Print the token and nothing else.")
    ] = False,
    token_stdin: Annotated[
        bool,
        typer.Option("--token-stdin", help="Read the administrator's token from stdin."),
    ] = False,
    store: place.StoreOption = None,
    key_file: place.KeyFile = None,
    endpoint_url: place.EndpointUrl = None,
) -> None:
    """Make a credential. Its token is shown this once."""
    ttl_ms = _ttl_ms(ttl)
    name = _principal(principal or role.value)
    workspace = _workspace(invocation, role)
    if role is Issued.WORKER and workflow is None:
        raise Refusal(
            ExitCode.USAGE,
            "a worker's credential is for one workflow",
            f"see which: {invocation.command('workflows', 'list', in_workspace=True)}",
            "then say it: --workflow ID",
        )
    is_local = store is not None or key_file is not None or invocation.vault is not None
    way = (
        _on_the_host(invocation, store, key_file, endpoint_url)
        if is_local
        else _over_http(invocation, token_stdin=token_stdin)
    )
    with way as (controller, make), connection.about(invocation):
        whole = None if workflow is None else prefixes.whole(controller, invocation, workflow)
        created = make(
            messages.CreateCredential(
                role=Role(role.value),
                principal=name,
                ttl_ms=ttl_ms,
                workspace=workspace,
                workflow=whole,
            )
        )
    _shown(invocation, created, token_only=token_only)


@contextmanager
def _over_http(invocation: Invocation, *, token_stdin: bool) -> Iterator[tuple[Controller, _Maker]]:
    from onceward_controller.cli.remote import RemoteController

    def typed() -> str:
        return prompts.read_token(invocation.output, from_stdin=token_stdin)

    found = address.find(invocation, typed=typed, typed_first=token_stdin)
    controller = RemoteController.at(found, WorkspaceName(invocation.workspace))
    try:
        yield controller, controller.create_credential
    finally:
        controller.close()


@contextmanager
def _on_the_host(
    invocation: Invocation, store: str | None, key_file: Path | None, endpoint_url: str | None
) -> Iterator[tuple[Controller, _Maker]]:
    from onceward.embedded import EmbeddedController
    from onceward_controller.cli.host import tokens

    if invocation.vault is not None:
        store, key_file = str(invocation.vault), FolderStore(invocation.vault).key_file
    where = place.settings(store, key_file, endpoint_url)
    with place.opened(where) as service:
        controller = EmbeddedController(service, principal=connection.host_principal())
        yield controller, lambda body: tokens.make(service, body)


def _shown(
    invocation: Invocation, created: messages.CredentialCreated, *, token_only: bool
) -> None:
    output, now_ms = invocation.output, SystemClock().wall_ms()
    until = moments.distance(created.expires_ms, now_ms=now_ms)
    if token_only:
        output.text(created.token)
        return

    def drawing() -> object:
        from onceward_controller.cli.terminal import sheet

        facts = [
            ("accessor", created.accessor),
            ("expires", f"{moments.clock(created.expires_ms)} ({until})"),
        ]
        return sheet.below(sheet.facts(facts), sheet.token(created.token))

    output.data(created, drawing)
    output.note("Use it as ONCEWARD_TOKEN.")


def _ttl_ms(text: str) -> int:
    try:
        return moments.parse_duration_ms(text)
    except ValueError as error:
        raise Refusal(ExitCode.USAGE, f"--ttl: {error}", "say how long: --ttl 8h") from None


def _principal(name: str) -> str:
    if not is_name(name):
        raise Refusal(
            ExitCode.USAGE,
            f"not a name for a principal: `{name}`",
            "use lowercase letters, digits, dots, hyphens and underscores: --principal NAME",
        )
    return name


def _workspace(invocation: Invocation, role: Issued) -> str | None:
    """Return the workspace that confines the credential; only an operator must have one."""
    return invocation.workspace if role is Issued.OPERATOR else invocation.workspace_given
