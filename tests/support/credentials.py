"""Credentials of every role on one service."""

from onceward.wire import limits, messages
from onceward.wire.tokens import Role
from onceward_controller.service.service import Service
from tests.support.services import ADMIN

TTL_MS = limits.DAY_MS


def issued(
    service: Service,
    role: Role = Role.ADMIN,
    *,
    workspace: str | None = None,
    workflow: str | None = None,
    ttl_ms: int = TTL_MS,
) -> str:
    body = messages.CreateCredential(
        role=role, principal="worker-1", ttl_ms=ttl_ms, workspace=workspace, workflow=workflow
    )
    return service.credentials.create(ADMIN, body).token
