"""The boto3 client of an S3 store: how it connects, waits and finds its credentials.

botocore never sends anything twice for us (``total_max_attempts=1``, no redirect followed): its
retries turn the lost reply of a create that succeeded into a 412, which reads as somebody else's
write. Sending again is the revision log's business, which can tell its own bytes from another's.

Off AWS, checksums are computed only where the protocol demands them: many compatible stores do not
know the newer ones. Credentials come from the settings, else from the environment and profile of
the process; the metadata service of a cloud host is asked only on request, because everywhere else
that question hangs.
"""

from typing import TYPE_CHECKING, Any, Literal

import boto3
import botocore.session
import msgspec
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from onceward_controller.vault.store import RefusedError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_REGION_OFF_AWS = "us-east-1"
"""Signatures name a region even where a store has none; compatible stores expect this one."""


class S3Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where a bucket is and how to reach it.

    Attributes:
        bucket: The bucket; it must exist.
        prefix: What every object name begins with, usually ending in ``/``; may be empty.
        endpoint_url: The store's address, such as ``http://127.0.0.1:8333``; None means AWS.
        region: The region of the bucket; None takes it from the environment.
        addressing_style: ``path`` for ``endpoint/bucket/name``, ``virtual`` for
            ``bucket.endpoint/name``, ``auto`` to let boto3 choose.
        access_key_id: With ``secret_access_key``, explicit credentials; None takes them from the
            environment.
        secret_access_key: See ``access_key_id``.
        session_token: Belongs to temporary credentials.
        instance_metadata: Whether the host's metadata service may be asked for credentials.
        connections_max: Most requests at once, 1 or more; others wait for a connection.
        connect_timeout_ms: How long a connection may take, in milliseconds.
        read_timeout_ms: How long the store may be silent, in milliseconds; the losers of a race
            wait up to 9 s on SeaweedFS.
    """

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    addressing_style: Literal["auto", "path", "virtual"] = "auto"
    access_key_id: str | None = None
    secret_access_key: str | None = None
    session_token: str | None = None
    instance_metadata: bool = False
    connections_max: int = 32
    connect_timeout_ms: int = 2_000
    read_timeout_ms: int = 15_000

    def __repr__(self) -> str:
        """Show where, never with what credentials."""
        return f"S3Settings(bucket={self.bucket!r}, endpoint_url={self.endpoint_url!r})"


def new_client(settings: S3Settings) -> "S3Client":
    """Make the client that a process shares among its threads; sends nothing yet.

    Raises:
        RefusedError: The settings contradict themselves or lack something.
    """
    if (settings.access_key_id is None) != (settings.secret_access_key is None):
        raise RefusedError("the store's settings hold half a credential: give key and secret")
    try:
        client = _session(settings).client(
            "s3", endpoint_url=settings.endpoint_url, config=_config(settings)
        )
    except (BotoCoreError, ValueError) as error:
        raise RefusedError(f"the store's settings are not usable: {error}") from error
    client.meta.events.register("before-call.s3", _send_once_and_at_once)
    return client


def _send_once_and_at_once(params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
    # botocore sends the head of a PUT, waits up to a second for ``100 Continue`` and only then
    # sends the body: a second round trip for a kilobyte.
    params["headers"].pop("Expect", None)
    # It asks a redirecting store for the region of the bucket and tries again. Where a store
    # redirects everything (a proxy that wants https) it asks until the stack is full.
    context.setdefault("s3_redirect", {})["redirected"] = True


def _session(settings: S3Settings) -> boto3.Session:
    core = botocore.session.get_session()
    if not settings.instance_metadata:
        core.get_component("credential_provider").remove("iam-role")
    region = settings.region or core.get_config_variable("region")
    if region is None and settings.endpoint_url is not None:
        region = _REGION_OFF_AWS
    return boto3.Session(
        aws_access_key_id=settings.access_key_id,
        aws_secret_access_key=settings.secret_access_key,
        aws_session_token=settings.session_token,
        region_name=region,
        botocore_session=core,
    )


def _config(settings: S3Settings) -> Config:
    on_aws = settings.endpoint_url is None
    return Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=settings.connect_timeout_ms / 1000,
        read_timeout=settings.read_timeout_ms / 1000,
        tcp_keepalive=True,
        max_pool_connections=settings.connections_max,
        request_checksum_calculation="when_supported" if on_aws else "when_required",
        response_checksum_validation="when_supported" if on_aws else "when_required",
        s3={"addressing_style": settings.addressing_style},
        user_agent_extra="onceward",
    )
