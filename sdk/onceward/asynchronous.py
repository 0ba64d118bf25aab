"""The same client for code on an event loop.

Every method waits on a thread, so that the loop goes on; asynchronous tools run on the caller's own
loop, where whatever they hold open was opened. To cancel the wait does not cancel the governed
call: it goes on, and its receipt is recorded.
"""

import asyncio
import os
from collections.abc import Iterable
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from onceward.client import Client
from onceward.delivery import Flushed
from onceward.tools import Tool
from onceward.wire import messages
from onceward.wire.definitions import OperationDefinition
from onceward.wire.receipts import Outcome


class AsyncClient:
    """``Client`` with methods to await; see there for what they do and raise."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        workspace: str = "default",
        spool: str | os.PathLike[str] | None = None,
    ) -> None:
        self._client = Client(url, token, workspace=workspace, spool=spool)

    @staticmethod
    def embedded(path: str | os.PathLike[str], *, workspace: str = "default") -> "AsyncClient":
        """See ``Client.embedded``."""
        return AsyncClient.over(Client.embedded(path, workspace=workspace))

    @staticmethod
    def over(client: Client) -> "AsyncClient":
        """Return an asynchronous face of ``client``, which it owns from now on."""
        return _AsyncClientOver(client)

    async def create(
        self,
        key: str,
        operations: Iterable[OperationDefinition],
        *,
        label: str = "",
        tags: Iterable[str] = (),
        enable: bool = False,
    ) -> messages.WorkflowView:
        """See ``Client.create``."""
        return await asyncio.to_thread(
            self._client.create, key, operations, label=label, tags=tags, enable=enable
        )

    async def run(
        self, workflow_id: str, tools: Iterable[Tool], *, wait: timedelta | None = None
    ) -> dict[str, Any]:
        """See ``Client.run``."""
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(self._client.run, workflow_id, tools, wait=wait, loop=loop)

    async def run_operation(
        self, workflow_id: str, name: str, tools: Iterable[Tool], *, wait: timedelta | None = None
    ) -> Any:  # noqa: ANN401 - a result is whatever JSON value the tool gave
        """See ``Client.run_operation``."""
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(
            self._client.run_operation, workflow_id, name, tools, wait=wait, loop=loop
        )

    async def enable(self, workflow_id: str) -> messages.WorkflowView:
        """See ``Client.enable``."""
        return await asyncio.to_thread(self._client.enable, workflow_id)

    async def pause(self, workflow_id: str) -> messages.WorkflowView:
        """See ``Client.pause``."""
        return await asyncio.to_thread(self._client.pause, workflow_id)

    async def resolve(
        self,
        workflow_id: str,
        name: str,
        outcome: Outcome,
        *,
        evidence: str,
        revision: int,
        effect_id: str | None = None,
        result: object = None,
    ) -> messages.WorkflowView:
        """See ``Client.resolve``."""
        return await asyncio.to_thread(
            self._client.resolve,
            workflow_id,
            name,
            outcome,
            evidence=evidence,
            revision=revision,
            effect_id=effect_id,
            result=result,
        )

    async def abandon(
        self, workflow_id: str, *, evidence: str, revision: int, operation: str | None = None
    ) -> messages.WorkflowView:
        """See ``Client.abandon``."""
        return await asyncio.to_thread(
            self._client.abandon,
            workflow_id,
            evidence=evidence,
            revision=revision,
            operation=operation,
        )

    async def workflow(self, workflow_id: str) -> messages.WorkflowView:
        """See ``Client.workflow``."""
        return await asyncio.to_thread(self._client.workflow, workflow_id)

    async def workflows(
        self,
        *,
        row_class: messages.RowClass | None = None,
        key: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> messages.WorkflowPage:
        """See ``Client.workflows``."""
        return await asyncio.to_thread(
            self._client.workflows, row_class=row_class, key=key, after=after, limit=limit
        )

    async def history(self, workflow_id: str, *, after: int = 0) -> messages.HistoryPage:
        """See ``Client.history``."""
        return await asyncio.to_thread(self._client.history, workflow_id, after=after)

    async def flush(self) -> Flushed:
        """See ``Client.flush``."""
        return await asyncio.to_thread(self._client.flush)

    async def close(self) -> None:
        """See ``Client.close``."""
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class _AsyncClientOver(AsyncClient):
    """A face of a client that somebody else opened."""

    def __init__(self, client: Client) -> None:
        self._client = client
