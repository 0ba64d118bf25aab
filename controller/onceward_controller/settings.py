"""What a controller process is told about its surroundings: flags first, then the environment.

    flag            variable                     means
    --store         ONCEWARD_STORE               a folder, or s3://bucket/prefix
    --key-file      ONCEWARD_KEY_FILE            the 0600 file that opens the vault
    --endpoint-url  ONCEWARD_S3_ENDPOINT_URL     an S3-compatible store; AWS when not given
                    ONCEWARD_S3_REGION           the region of the bucket
                    ONCEWARD_S3_ADDRESSING       path, virtual or auto
                    ONCEWARD_S3_PLAIN_HTTP       yes: http to an endpoint that is not loopback
                    ONCEWARD_S3_INSTANCE_METADATA  yes: ask the cloud host for credentials
    --host, --port  ONCEWARD_HOST, ONCEWARD_PORT where to listen; loopback unless told otherwise
                    ONCEWARD_ALLOWED_HOSTS       names under which clients reach us, with commas

Secrets are never among them: S3 credentials stay where boto3 looks for them, and the vault's key is
a file. Nothing here touches the file system or the network.
"""

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from onceward.wire import limits

Addressing: TypeAlias = Literal["auto", "path", "virtual"]

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Names under which a listener on loopback is reached."""
PORT_DEFAULT = 8686
PORT_MAX = 65_535
DEADLINE_MS = 10 * limits.SECOND_MS
THREADS = 32
"""Blocking service calls at once; the S3 client has as many connections."""

_ADDRESSINGS: dict[str, Addressing] = {"auto": "auto", "path": "path", "virtual": "virtual"}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"(?:[a-z0-9._-]+/)*[a-z0-9._-]*", re.IGNORECASE)
_PORT = re.compile(r"[0-9]{1,5}")
_HOST_NAME = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)


class SettingsError(ValueError):
    """A setting is missing or means nothing; the message names it and says how to mend it."""


class FolderStore(Struct, frozen=True):
    """A vault in one SQLite file in ``folder``, with its key file beside it unless told."""

    folder: Path

    @property
    def file(self) -> Path:
        """The SQLite file."""
        return self.folder / "vault.db"

    @property
    def key_file(self) -> Path:
        """Where the key file lies when nobody says where."""
        return self.folder / "vault.key"


class BucketStore(Struct, frozen=True, kw_only=True):
    """A vault in an S3-compatible bucket.

    Attributes:
        bucket: Its name.
        prefix: What every object name begins with: empty, or ending in ``/``.
        endpoint_url: The store's address; None for AWS.
        region: None takes it from the environment of boto3.
        addressing: How a request names the bucket.
        instance_metadata: Whether the cloud host may be asked for credentials.
    """

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    addressing: Addressing = "auto"
    instance_metadata: bool = False


class Settings(Struct, frozen=True, kw_only=True):
    """One controller process.

    Attributes:
        store: Where the vault lies.
        key_file: What opens it.
        host: The address to listen on.
        port: The port to listen on; 0 for any that is free.
        allowed_hosts: What a request's Host header may name, without the port.
        head_ms: How long a connection may take to send a request's head.
        deadline_ms: How long one request may take from there, its body included.
        threads: Blocking service calls at once.
    """

    store: FolderStore | BucketStore
    key_file: Path
    host: str = "127.0.0.1"
    port: int = PORT_DEFAULT
    allowed_hosts: tuple[str, ...] = LOOPBACK_HOSTS
    head_ms: int = DEADLINE_MS
    deadline_ms: int = DEADLINE_MS
    threads: int = THREADS


def read_settings(
    environment: Mapping[str, str],
    *,
    store: str | None = None,
    key_file: str | None = None,
    endpoint_url: str | None = None,
    host: str | None = None,
    port: int | None = None,
) -> Settings:
    """Return the settings that flags and environment amount to; a flag wins.

    Args:
        environment: Variables by name; empty ones count as not set.
        store: ``--store``.
        key_file: ``--key-file``.
        endpoint_url: ``--endpoint-url``.
        host: ``--host``.
        port: ``--port``.

    Raises:
        SettingsError: One is missing, malformed or contradicts another.
    """
    flags = {
        "ONCEWARD_STORE": store,
        "ONCEWARD_KEY_FILE": key_file,
        "ONCEWARD_S3_ENDPOINT_URL": endpoint_url,
        "ONCEWARD_HOST": host,
        "ONCEWARD_PORT": None if port is None else str(port),
    }
    told = {**environment, **{name: flag for name, flag in flags.items() if flag is not None}}
    where = _store(told)
    listen = told.get("ONCEWARD_HOST") or "127.0.0.1"
    return Settings(
        store=where,
        key_file=_key_file(told, where),
        host=listen,
        port=_port(told),
        allowed_hosts=_allowed_hosts(told, listen),
    )


def _store(told: Mapping[str, str]) -> FolderStore | BucketStore:
    text = told.get("ONCEWARD_STORE")
    if not text:
        raise SettingsError(
            "ONCEWARD_STORE is not set: name a folder or s3://bucket/prefix, here or by --store"
        )
    if not text.startswith("s3://"):
        if "://" in text:
            raise SettingsError(
                f"ONCEWARD_STORE is neither a folder nor s3://bucket/prefix: value=`{text}`"
            )
        return FolderStore(Path(text))
    bucket, _, prefix = text.removeprefix("s3://").partition("/")
    if not _BUCKET.fullmatch(bucket) or not _PREFIX.fullmatch(prefix):
        raise SettingsError(
            f"ONCEWARD_STORE names no usable bucket and prefix: write s3://bucket/prefix in "
            f"letters, digits, dots and hyphens: value=`{text}`"
        )
    return BucketStore(
        bucket=bucket,
        prefix=prefix if not prefix or prefix.endswith("/") else f"{prefix}/",
        endpoint_url=_endpoint_url(told),
        region=told.get("ONCEWARD_S3_REGION") or None,
        addressing=_addressing(told),
        instance_metadata=_is_yes(told, "ONCEWARD_S3_INSTANCE_METADATA"),
    )


def _key_file(told: Mapping[str, str], where: FolderStore | BucketStore) -> Path:
    text = told.get("ONCEWARD_KEY_FILE")
    if text:
        return Path(text)
    if isinstance(where, FolderStore):
        return where.key_file
    raise SettingsError(
        "ONCEWARD_KEY_FILE is not set: name the 0600 file that opens the vault, "
        "here or by --key-file; `onceward init` makes one"
    )


def _endpoint_url(told: Mapping[str, str]) -> str | None:
    text = told.get("ONCEWARD_S3_ENDPOINT_URL")
    if not text:
        return None
    name = "ONCEWARD_S3_ENDPOINT_URL"
    try:
        parts = urlsplit(text)
    except ValueError:
        raise SettingsError(f"{name} is no address: write https://host:port") from None
    if parts.username is not None or parts.password is not None:
        # Not shown: it holds a password.
        raise SettingsError(f"{name} holds credentials: give them to boto3 in its own variables")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise SettingsError(f"{name} is no address: write https://host:port: value=`{text}`")
    is_open = parts.scheme == "http" and not _is_loopback(parts.hostname)
    if is_open and not _is_yes(told, "ONCEWARD_S3_PLAIN_HTTP"):
        raise SettingsError(
            f"{name} sends credentials in the clear: use https, or set "
            f"ONCEWARD_S3_PLAIN_HTTP=yes on a network that is yours alone: value=`{text}`"
        )
    return text


def _addressing(told: Mapping[str, str]) -> Addressing:
    text = told.get("ONCEWARD_S3_ADDRESSING") or "auto"
    addressing = _ADDRESSINGS.get(text)
    if addressing is None:
        raise SettingsError(
            f"ONCEWARD_S3_ADDRESSING is one of {', '.join(_ADDRESSINGS)}: value=`{text}`"
        )
    return addressing


def _is_yes(told: Mapping[str, str], name: str) -> bool:
    text = told.get(name) or "no"
    if text not in ("yes", "no"):
        raise SettingsError(f"{name} is yes or no: value=`{text}`")
    return text == "yes"


def _port(told: Mapping[str, str]) -> int:
    text = told.get("ONCEWARD_PORT") or str(PORT_DEFAULT)
    if not _PORT.fullmatch(text) or int(text) > PORT_MAX:
        raise SettingsError(f"ONCEWARD_PORT is a number from 0 to {PORT_MAX}: value=`{text}`")
    return int(text)


def _allowed_hosts(told: Mapping[str, str], listen: str) -> tuple[str, ...]:
    text = told.get("ONCEWARD_ALLOWED_HOSTS")
    if not text:
        if _is_loopback(listen):
            return LOOPBACK_HOSTS
        raise SettingsError(
            "ONCEWARD_ALLOWED_HOSTS is not set, and we listen beyond loopback: name the hosts by "
            "which clients reach us, with commas, such as onceward.example.com"
        )
    hosts = tuple(part.strip().lower() for part in text.split(","))
    for host in hosts:
        if not _HOST_NAME.fullmatch(host):
            raise SettingsError(
                f"ONCEWARD_ALLOWED_HOSTS holds names without scheme or port, and no wildcard: "
                f"value=`{host}`"
            )
    return hosts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
