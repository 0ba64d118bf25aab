"""Credentials: made here, shown once."""

from litestar import post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from onceward.wire import messages
from onceward_controller.api.asking import Asking, asks
from onceward_controller.api.openapi import PROBLEMS
from onceward_controller.protocol.authority import Action


@post(
    "/credentials",
    opt=asks(Action.CREDENTIAL_CREATE),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def create_credential(
    asking: NamedDependency[Asking], data: JSONBody[messages.CreateCredential]
) -> messages.CredentialCreated:
    """Make a credential; its token is in this reply and nowhere else."""
    return asking.service.credentials.create(asking.caller, data)


ROUTES = (create_credential,)
