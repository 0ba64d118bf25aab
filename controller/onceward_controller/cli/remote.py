"""The controller behind an address, with what only administrators ask for."""

from email.utils import parsedate_to_datetime
from http import HTTPStatus

from msgspec import Struct
from urllib3.exceptions import HTTPError

from onceward.ports import Clock
from onceward.system import SystemClock
from onceward.transport import HttpController
from onceward.wire import limits, messages
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.problems import ProblemCode, UnavailableError
from onceward_controller.cli.address import Address
from onceward_controller.cli.exit_codes import ExitCode
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

    @classmethod
    def at(cls, address: Address, workspace: WorkspaceName) -> "RemoteController":
        """Return the controller at ``address``; nothing is sent yet.

        Raises:
            Refusal: The address is none that a token may be sent to.
        """
        try:
            return cls(address.url, address.token, workspace=workspace, clock=SystemClock())
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
        return self._post("/v1/credentials", body, messages.CredentialCreated)

    def look(self, clock: Clock) -> Look:
        """Return whether the controller can serve, and how far its clock is from ours.

        Raises:
            ProblemError: It gave no answer.
        """
        began_ms = clock.wall_ms()
        try:
            # Not through ``_send``: the time is in a header, and no token is needed.
            reply = self._pool.urlopen(
                "GET", f"{self._path}/readyz", redirect=False, retries=False, timeout=_LOOK_SECONDS
            )
        except HTTPError as error:
            raise UnavailableError(
                ProblemCode.UNREACHABLE,
                f"the controller cannot be reached: url=`{self.origin}` "
                f"error=`{type(error).__name__}`",
            ) from None
        middle_ms = (began_ms + clock.wall_ms()) // 2
        try:
            told_ms = int(parsedate_to_datetime(reply.headers["date"]).timestamp() * 1000)
        except (KeyError, ValueError):
            return Look(is_ready=reply.status == HTTPStatus.OK, apart_ms=None)
        # The header has whole seconds: on average the true time is half a second later.
        apart_ms = told_ms + limits.SECOND_MS // 2 - middle_ms
        return Look(is_ready=reply.status == HTTPStatus.OK, apart_ms=apart_ms)
