"""``onceward serve``: a controller for containers, on a bucket or a folder, told by environment."""

from typing import Annotated

import typer

from onceward_controller.cli.connection import require_vault
from onceward_controller.cli.host import place, running
from onceward_controller.cli.invocation import Invocation, shared


@shared
def serve(
    invocation: Invocation,
    *,
    store: place.StoreOption = None,
    key_file: place.KeyFile = None,
    endpoint_url: place.EndpointUrl = None,
    host: Annotated[
        str | None,
        typer.Option("--host", help="Where to listen [env: ONCEWARD_HOST; 127.0.0.1]."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65_535, help="[env: ONCEWARD_PORT; 8686]."),
    ] = None,
) -> None:
    """Run a controller on a vault that `init` made. For containers: it makes nothing."""
    where = place.settings(store, key_file, endpoint_url, host=host, port=port)
    from onceward_controller import bootstrap
    from onceward_controller.settings import FolderStore

    if isinstance(where.store, FolderStore):
        require_vault(where.store.folder)
    with running.ended_by_sigterm(), running.listen(where.host, where.port) as listener:
        invocation.output.detail(f"opening the vault: store=`{place.name_of(where)}`")
        service = bootstrap.open_controller(where)
        try:
            url, name = running.url_of(listener), place.name_of(where)
            invocation.output.note(f"controller {url}, store {name}; SIGTERM ends it")
            running.host(service, where, listener)
        finally:
            service.close()
            invocation.output.note("controller ended; everything is durable")
