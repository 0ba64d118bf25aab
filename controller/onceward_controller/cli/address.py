"""Which controller, and which token.

    address   --url, else ONCEWARD_URL, else the profile that `up` wrote
    token     ONCEWARD_TOKEN, else the file that the profile names

The profile's token goes to the profile's address alone, and only while the controller that wrote
the profile still runs: whatever else listens there must not be told it.
"""

import os
from collections.abc import Callable

from msgspec import Struct

from onceward.exit_codes import ExitCode
from onceward.wire.secrets import Secret
from onceward_controller.cli import private_file, profile
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.profile import Profile
from onceward_controller.cli.refusal import Refusal

URL_VARIABLE = "ONCEWARD_URL"
TOKEN_VARIABLE = "ONCEWARD_TOKEN"
_START = "start a controller on this machine: onceward up"
_NAME = "or name one: onceward --url URL, with its token in ONCEWARD_TOKEN"


class Address(Struct, frozen=True):
    """A controller, and how to be let in."""

    url: str
    token: Secret[str]
    source: str


def find(
    invocation: Invocation,
    *,
    typed: Callable[[], str] | None = None,
    typed_first: bool = False,
) -> Address:
    """Return the address and the token to use.

    Args:
        invocation: What the options said.
        typed: Asks for a token where none is known; None for not asking.
        typed_first: Whether to ask although one is known.

    Raises:
        Refusal: There is none, or the profile's controller does not run.
        PrivateFileError: The profile or its token is not fit for use.
    """
    try:
        known = profile.load(invocation.profile)
    except ValueError as error:
        raise Refusal(ExitCode.USAGE, str(error), "give its name: --profile NAME") from None
    named = invocation.url or os.environ.get(URL_VARIABLE) or None
    token = os.environ.get(TOKEN_VARIABLE) or None
    if typed is not None and typed_first:
        token = typed()
    if named is not None and token is not None:
        source = "--url" if invocation.url else URL_VARIABLE
        return Address(url=named, token=Secret(token), source=source)
    if known is None or (named is not None and named.rstrip("/") != known.url):
        if named is None:
            raise Refusal(ExitCode.UNREACHABLE, "no controller is known here", _START, _NAME)
        if typed is not None:
            return Address(url=named, token=Secret(typed()), source="--url")
        raise Refusal(
            ExitCode.PAUSED_OR_DENIED,
            f"there is no token for this address: url=`{named}`",
            f"put one into {TOKEN_VARIABLE}; make one with: onceward credential create --help",
        )
    return Address(
        url=known.url,
        token=Secret(token) if token is not None else _token(known),
        source=str(profile.path_of(invocation.profile)),
    )


def _token(known: Profile) -> Secret[str]:
    if not profile.is_served(known.token_file.parent):
        raise Refusal(
            ExitCode.UNREACHABLE,
            f"the controller is not running; nothing was sent: url=`{known.url}`",
            f"start it: onceward up --data {known.data}",
            f"or work on its vault directly: onceward --vault {known.data} ...",
        )
    text = private_file.read(known.token_file)
    if text is None:
        raise Refusal(
            ExitCode.PAUSED_OR_DENIED,
            f"the token is gone: path=`{known.token_file}`",
            "stop `onceward up` and start it again: it makes a new one",
        )
    return Secret(text.strip())
