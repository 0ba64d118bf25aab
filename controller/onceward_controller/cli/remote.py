"""The controller behind an address, with what only administrators ask for."""

from onceward.system import SystemClock
from onceward.transport import HttpController
from onceward.wire import messages
from onceward.wire.identifiers import WorkspaceName
from onceward_controller.cli.address import Address
from onceward_controller.cli.exit_codes import ExitCode
from onceward_controller.cli.refusal import Refusal


class RemoteController(HttpController):
    """``HttpController``, and credentials."""

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
