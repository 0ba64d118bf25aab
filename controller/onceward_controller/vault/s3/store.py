"""A store in an S3-compatible bucket: put-if-absent is ``If-None-Match: *``.

One request per call, never a second one (see ``vault.s3.client``). The store's time is the ``Date``
header of its answer, which has a resolution of one second: the true time is up to 999 ms later.

A bucket that keeps versions is not for us: some stores ignore the condition there, and a blanked
object would keep its content in an older version. ``vault.probe`` tells the first of these.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from onceward_controller.vault.s3 import failure as s3_failure
from onceward_controller.vault.s3.client import S3Settings, new_client
from onceward_controller.vault.store import (
    PAGE_NAMES_MAX,
    OutcomeUnknownError,
    Page,
    RefusedError,
    Stored,
    UnavailableError,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def connect(settings: S3Settings) -> "S3Store":
    """Return a store for the bucket; nothing is sent before the first call.

    Raises:
        RefusedError: The settings contradict themselves or lack something.
    """
    return S3Store(new_client(settings), settings.bucket, settings.prefix)


class S3Store:
    """Objects of one bucket under one prefix."""

    def __init__(self, client: "S3Client", bucket: str, prefix: str) -> None:
        """Use a bucket through a client that no retry policy repeats.

        Args:
            client: One client per process; many threads may share it.
            bucket: The bucket, which must exist.
            prefix: What every object name begins with; may be empty.
        """
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        self._closed = False

    def create(self, name: str, body: bytes) -> int:
        """See ``Store.create``."""
        self._refuse_when_closed()
        try:
            answer = self._client.put_object(
                Bucket=self._bucket, Key=self._prefix + name, Body=body, IfNoneMatch="*"
            )
        except (BotoCoreError, ClientError) as error:
            raise s3_failure.of_write(error) from error
        return _time_of_write_ms(answer)

    def get(self, name: str) -> Stored | None:
        """See ``Store.get``."""
        self._refuse_when_closed()
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)
            _refuse_cut_head(answer)
            with answer["Body"] as stream:
                body = stream.read()
        except ClientError as error:
            if s3_failure.is_absence(error):
                return None
            raise s3_failure.of_read(error) from error
        except BotoCoreError as error:
            raise s3_failure.of_read(error) from error
        except (HTTPError, OSError) as error:
            raise UnavailableError(f"the answer broke off: {error}") from error
        return Stored(body, _time_of_read_ms(answer))

    def list(self, prefix: str, *, after: str = "", limit: int = PAGE_NAMES_MAX) -> Page:
        """See ``Store.list``."""
        self._refuse_when_closed()
        start: dict[str, Any] = {"StartAfter": self._prefix + after} if after else {}
        try:
            answer: Mapping[str, Any] = self._client.list_objects_v2(
                Bucket=self._bucket, Prefix=self._prefix + prefix, MaxKeys=limit, **start
            )
        except (BotoCoreError, ClientError) as error:
            raise s3_failure.of_read(error) from error
        skipped = len(self._prefix)
        names = tuple(row["Key"][skipped:] for row in answer.get("Contents", ()))
        if "IsTruncated" not in answer or (answer["IsTruncated"] and not names):
            raise UnavailableError("the store's answer is not a page of a listing")
        _refuse_disorder(names, prefix=prefix, after=after)
        return Page(names, _time_of_read_ms(answer), more=answer["IsTruncated"])

    def put(self, name: str, body: bytes) -> int:
        """See ``Store.put``."""
        self._refuse_when_closed()
        try:
            answer = self._client.put_object(
                Bucket=self._bucket, Key=self._prefix + name, Body=body
            )
        except (BotoCoreError, ClientError) as error:
            raise s3_failure.of_write(error) from error
        return _time_of_write_ms(answer)

    def blank(self, name: str) -> None:
        """See ``Store.blank``."""
        self.put(name, b"")

    def delete(self, name: str) -> None:
        """See ``Store.delete``."""
        self._refuse_when_closed()
        try:
            answer = self._client.delete_object(Bucket=self._bucket, Key=self._prefix + name)
        except ClientError as error:
            if s3_failure.is_absence(error):
                return
            raise s3_failure.of_write(error) from error
        except BotoCoreError as error:
            raise s3_failure.of_write(error) from error
        _time_of_write_ms(answer)

    def close(self) -> None:
        """See ``Store.close``."""
        self._closed = True
        self._client.close()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise RefusedError("the store was closed: open it again")


def _time_of_write_ms(answer: Mapping[str, Any]) -> int:
    time_ms = _time_ms(answer)
    if time_ms is None:
        # It did write, or its answer was cut before the time. To say that it did not would be
        # false, and whoever reads next is told what a person must do.
        raise OutcomeUnknownError("the store says that it wrote and gives no time")
    return time_ms


def _time_of_read_ms(answer: Mapping[str, Any]) -> int:
    time_ms = _time_ms(answer)
    if time_ms is None:
        raise RefusedError("the store gives no time: something removes the Date of its answers")
    return time_ms


def _time_ms(answer: Mapping[str, Any]) -> int | None:
    try:
        when = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    except (KeyError, ValueError):
        return None
    return int(when.timestamp()) * 1000


def _refuse_cut_head(answer: Mapping[str, Any]) -> None:
    # A connection that breaks inside the head of an answer ends the head: Python's parser sees a
    # whole answer with fewer headers, and without a length an empty body, which means a blanked
    # object to us.
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    if "content-length" not in headers and "transfer-encoding" not in headers:
        raise UnavailableError("the answer broke off: it does not say how long it is")


def _refuse_disorder(names: tuple[str, ...], *, prefix: str, after: str) -> None:
    # The newest revision is the first name of a listing, so one in another order is a lie about
    # what happened; it costs microseconds to look.
    in_order = all(before < behind for before, behind in zip((after, *names), names, strict=False))
    if not in_order or not all(name.startswith(prefix) for name in names):
        raise RefusedError("the store does not list names in byte order: use one that does")
