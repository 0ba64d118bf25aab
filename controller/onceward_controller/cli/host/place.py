"""A vault on this host, by its store and its key file: for whoever holds both."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onceward.exit_codes import ExitCode
from onceward_controller.cli import profile
from onceward_controller.cli.refusal import Refusal

if TYPE_CHECKING:
    from onceward_controller.service.service import Service
    from onceward_controller.settings import Settings

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="STORE", help="A folder, or s3://bucket/prefix [env: ONCEWARD_STORE]."
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The 0600 file that opens the vault [env: ONCEWARD_KEY_FILE].",
    ),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        metavar="URL",
        help="Of an S3-compatible store [env: ONCEWARD_S3_ENDPOINT_URL].",
    ),
]


def settings(
    store: str | None,
    key_file: Path | None,
    endpoint_url: str | None,
    *,
    host: str | None = None,
    port: int | None = None,
) -> "Settings":
    """Return what flags and environment say; without a store, the folder that ``up`` uses.

    Raises:
        Refusal: They say nothing that can be used.
    """
    from onceward_controller.settings import SettingsError, read_settings

    if store is None and not os.environ.get("ONCEWARD_STORE"):
        store = str(profile.default_data())
    try:
        return read_settings(
            os.environ,
            store=store,
            key_file=None if key_file is None else str(key_file),
            endpoint_url=endpoint_url,
            host=host,
            port=port,
        )
    except SettingsError as error:
        raise Refusal(ExitCode.USAGE, str(error), "correct it and run the command again") from None


@contextmanager
def opened(where: "Settings") -> "Iterator[Service]":
    """Give the service of the vault that ``where`` means, and close it.

    Raises:
        Refusal: The folder holds no vault; nothing is made there.
        NoVaultError: The bucket holds none.
        UnlockError: The key file does not open it.
        StoreError: The store could not be read.
    """
    from onceward_controller import bootstrap
    from onceward_controller.cli.connection import require_vault
    from onceward_controller.settings import FolderStore

    if isinstance(where.store, FolderStore):
        require_vault(where.store.folder)
    store = bootstrap.open_store(where.store)
    try:
        service = bootstrap.open_service(store, where.key_file)
    except BaseException:
        store.close()
        raise
    try:
        yield service
    finally:
        service.close()


def name_of(where: "Settings") -> str:
    """Return the store as a person names it."""
    from onceward_controller.settings import FolderStore

    if isinstance(where.store, FolderStore):
        return str(where.store.folder)
    return f"s3://{where.store.bucket}/{where.store.prefix}"
