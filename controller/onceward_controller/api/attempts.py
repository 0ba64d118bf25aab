"""Attempts: begin, complete, renew, release; what a process that runs tools asks for."""

from litestar import post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from onceward.wire import messages
from onceward.wire.decisions import Decision
from onceward_controller.api.asking import Asking, asks
from onceward_controller.api.openapi import PROBLEMS
from onceward_controller.api.parameters import Operation, Workflow
from onceward_controller.protocol.authority import Action


@post(
    "/workflows/{workflow:str}/begin",
    opt=asks(Action.BEGIN),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def begin_next(
    asking: NamedDependency[Asking], workflow: Workflow, data: JSONBody[messages.Begin]
) -> Decision:
    """Answer whether the next ready operation may be run."""
    return asking.service.attempts.begin(asking.caller, workflow, data)


@post(
    "/workflows/{workflow:str}/operations/{operation:str}/begin",
    opt=asks(Action.BEGIN),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def begin_operation(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    operation: Operation,
    data: JSONBody[messages.BeginOperation],
) -> Decision:
    """Answer whether this operation may be run."""
    body = messages.Begin(request_id=data.request_id, operation=operation, tools=data.tools)
    return asking.service.attempts.begin(asking.caller, workflow, body)


@post(
    "/workflows/{workflow:str}/operations/{operation:str}/complete",
    opt=asks(Action.COMPLETE),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def complete_operation(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    operation: Operation,
    data: JSONBody[messages.Complete],
) -> messages.Completed:
    """File a receipt, durable once this is answered, and answer ``then_begin``."""
    return asking.service.attempts.complete(asking.caller, workflow, operation, data)


@post(
    "/workflows/{workflow:str}/operations/{operation:str}/renew",
    opt=asks(Action.RENEW),
    responses=PROBLEMS,
    status_code=200,
    sync_to_thread=True,
)
def renew_lease(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    operation: Operation,
    data: JSONBody[messages.Renew],
) -> messages.Renewed:
    """Give the holder of a lease more time."""
    return asking.service.attempts.renew(asking.caller, workflow, operation, data)


@post(
    "/workflows/{workflow:str}/operations/{operation:str}/release",
    opt=asks(Action.RELEASE),
    responses=PROBLEMS,
    status_code=204,
    sync_to_thread=True,
)
def release_lease(
    asking: NamedDependency[Asking],
    workflow: Workflow,
    operation: Operation,
    data: JSONBody[messages.Release],
) -> None:
    """Take a grant back whose call was never made."""
    asking.service.attempts.release(asking.caller, workflow, operation, data)


ROUTES = (begin_next, begin_operation, complete_operation, renew_lease, release_lease)
