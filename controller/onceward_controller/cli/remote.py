"""The controller behind an address, with what only the operator's program asks for."""

from email.utils import parsedate_to_datetime
from http import HTTPStatus

import urllib3
from msgspec import Struct
from urllib3.exceptions import HTTPError

from onceward.exit_codes import ExitCode
from onceward.http_exchange import Exchange
from onceward.ports import Clock
from onceward.system import SystemClock
from onceward.transport import HttpController
from onceward.wire import codec, limits, messages
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.problems import ProblemCode, UnavailableError
from onceward_controller.cli.address import Address
from onceward_controller.cli.refusal import Refusal

_LOOK_SECONDS = 5.0


class Look(Struct, frozen=True):
    """What can be seen of a controller without a credential.

    Attributes:
        is_ready: Whether it reaches its store.
        apart_ms: Its clock less ours, to half a second; None when it does not tell.
    """

    is_ready: bool
    apart_ms: int | None


class RemoteController(HttpController):
    """``HttpController``, with credentials and health."""

    def __init__(self, address: Address, workspace: WorkspaceName, clock: Clock) -> None:
        super().__init__(address.url, address.token, workspace=workspace, clock=clock)
        self._administration = Exchange(address.url, address.token, clock)
        self._clock = clock

    @classmethod
    def at(cls, address: Address, workspace: WorkspaceName) -> "RemoteController":
        """Return the controller at ``address``; nothing is sent yet.

        Raises:
            Refusal: The address is none that a token may be sent to.
        """
        try:
            return cls(address, workspace, SystemClock())
        except ValueError as error:
            raise Refusal(
                ExitCode.USAGE,
                f"{error}: from {address.source}",
                "correct the address: https://HOST, or http://127.0.0.1:PORT on this machine",
            ) from None

    def create_credential(self, body: messages.CreateCredential) -> messages.CredentialCreated:
        """Make a credential; the token in the reply is shown this once.

        Raises:
            ProblemError: As ``service.credentials.create``, or the controller gave no answer.
        """
        reply = self._administration.send("POST", "/v1/credentials", codec.encode(body))
        return codec.decode(reply, messages.CredentialCreated)

    def look(self) -> Look:
        """Return whether the controller can serve, and how far its clock is from ours.

        Raises:
            UnavailableError: It gave no answer.
        """
        began_ms = self._clock.wall_ms()
        try:
            # A plain request: the time is in a header of the reply, and no token is needed.
            with urllib3.PoolManager(retries=False, timeout=_LOOK_SECONDS) as pool:
                reply = pool.request("GET", f"{self.origin}/readyz", redirect=False)
        except HTTPError as error:
            raise UnavailableError(
                ProblemCode.NOT_REACHED,
                f"the controller cannot be reached: url=`{self.origin}` "
                f"error=`{type(error).__name__}`",
            ) from None
        middle_ms = (began_ms + self._clock.wall_ms()) // 2
        is_ready = reply.status == HTTPStatus.OK
        try:
            told_ms = int(parsedate_to_datetime(reply.headers["date"]).timestamp() * 1000)
        except (KeyError, ValueError):
            return Look(is_ready=is_ready, apart_ms=None)
        # The header has whole seconds: on average the true time is half a second later.
        return Look(is_ready=is_ready, apart_ms=told_ms + limits.SECOND_MS // 2 - middle_ms)

    def close(self) -> None:
        """See ``Controller``."""
        self._administration.close()
        super().close()
