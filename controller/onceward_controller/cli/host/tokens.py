"""Making an administrator's credential on the host, where the key file is."""

from typing import TYPE_CHECKING

from onceward.wire import limits, messages
from onceward.wire.tokens import Role

if TYPE_CHECKING:
    from onceward_controller.service.service import Service

ADMINISTRATOR = "admin"
FIRST_TTL_MS = 30 * limits.DAY_MS
"""Of the token that ``init`` shows: long enough to make others, and easily made anew."""


def make(service: "Service", body: messages.CreateCredential) -> messages.CredentialCreated:
    """Make a credential as the host, which may everything.

    Raises:
        ProblemError: The scope does not fit the role, or the store failed.
    """
    from onceward_controller.bootstrap import HOST

    return service.credentials.create(HOST, body)


def administrator(service: "Service", *, ttl_ms: int) -> messages.CredentialCreated:
    """Make a credential that may everything.

    Raises:
        ProblemError: The store failed.
    """
    return make(
        service,
        messages.CreateCredential(role=Role.ADMIN, principal=ADMINISTRATOR, ttl_ms=ttl_ms),
    )
