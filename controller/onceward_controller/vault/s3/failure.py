"""Which of the port's failures an answer of S3, or the lack of one, is.

    412                                        conflict: the name was taken before we came
    409, 408, 429, 5xx, a timeout, a reset     a write may have landed, a read told us nothing
    no connection, no credentials fetched      nothing was sent
    everything else                            a person must act, and the message says how

A 409 says that another conditional write of the name was under way; what became of either is for
the next try to find out. A 5xx may come from a proxy that gave up on a store that did not. botocore
turns an error inside a 200 answer into a 500, so that it is among them.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html,
https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""

import ssl
from http import HTTPStatus

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    SSLError,
)

from onceward_controller.vault.store import (
    ConflictError,
    OutcomeUnknownError,
    RefusedError,
    StoreError,
    UnavailableError,
)

S3Error = BotoCoreError | ClientError

_NEVER_SENT = (EndpointConnectionError, ConnectTimeoutError, CredentialRetrievalError)
_UNUSABLE = (NoCredentialsError, PartialCredentialsError, ParamValidationError)

_UNSETTLED_STATUSES = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}
)
_UNSETTLED_CODES = frozenset({"BadDigest", "IncompleteBody", "RequestTimeout", "SlowDown"})
"""Answers of status 400 that ask to send again."""

_CHECK_KEYS = "the store does not accept the credentials: check the access key and its secret"
_CHECK_TOKEN = "the credentials have expired or are damaged: get new ones"
_CHECK_PLACE = "the bucket is elsewhere: check the region, the endpoint and the addressing style"
_NOT_ABLE = "the store cannot do conditional writes: use one that can"

_REPAIRS = {
    "AccessDenied": "the credentials may not do this: allow s3:GetObject, s3:PutObject,"
    " s3:DeleteObject and s3:ListBucket on the bucket",
    "AuthorizationHeaderMalformed": _CHECK_PLACE,
    "EntityTooLarge": "the object is larger than the store allows",
    "ExpiredToken": _CHECK_TOKEN,
    "InvalidAccessKeyId": _CHECK_KEYS,
    "InvalidBucketName": "the bucket's name is not valid: correct it",
    "InvalidToken": _CHECK_TOKEN,
    "KeyTooLongError": "the object's name is too long: use a shorter prefix",
    "NoSuchBucket": "the bucket does not exist: create it or correct its name",
    "NotImplemented": _NOT_ABLE,
    "PermanentRedirect": _CHECK_PLACE,
    "RequestTimeTooSkewed": "this host's clock and the store's disagree: correct the wrong one",
    "SignatureDoesNotMatch": _CHECK_KEYS,
}


def is_absence(error: ClientError) -> bool:
    """Whether the store itself says that it holds no such object.

    A 404 of anything else (a bucket that is gone, a proxy, a wrong path) is not that answer.
    """
    return _code(error) == "NoSuchKey"


def of_write(error: S3Error) -> StoreError:
    """Return what a failed write means."""
    if isinstance(error, ClientError):
        if _status(error) == HTTPStatus.PRECONDITION_FAILED:
            return ConflictError(f"the name is taken: {_said(error)}")
        if _is_unsettled(error):
            return OutcomeUnknownError(f"the store did not say whether it wrote: {_said(error)}")
        return _refusal(error)
    if isinstance(error, _NEVER_SENT):
        return UnavailableError(f"the store could not be reached: {error}")
    if _needs_a_person(error):
        return RefusedError(f"the store cannot be used with these settings: {error}")
    return OutcomeUnknownError(f"the store's answer was lost: {error}")


def of_read(error: S3Error) -> StoreError:
    """Return what a failed read means."""
    if isinstance(error, ClientError):
        if _is_unsettled(error):
            return UnavailableError(f"the store did not answer the question: {_said(error)}")
        return _refusal(error)
    if _needs_a_person(error):
        return RefusedError(f"the store cannot be used with these settings: {error}")
    return UnavailableError(f"the store could not be asked: {error}")


def _refusal(error: ClientError) -> RefusedError:
    repair = _REPAIRS.get(_code(error))
    if repair is None:
        status = _status(error)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            repair = _NOT_ABLE
        elif status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            repair = _REPAIRS["AccessDenied"]
        elif HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            repair = _CHECK_PLACE
        else:
            repair = "the store refused the request: check the endpoint and the bucket"
    return RefusedError(f"{repair}: {_said(error)}")


def _needs_a_person(error: BotoCoreError) -> bool:
    if isinstance(error, SSLError):
        # A certificate that does not check out is refused before anything is sent.
        return _is_certificate_error(error)
    return isinstance(error, _UNUSABLE)


def _is_certificate_error(error: BotoCoreError) -> bool:
    cause: object = error.kwargs.get("error")
    while isinstance(cause, BaseException):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.args[0] if cause.args else None
    return False


def _is_unsettled(error: ClientError) -> bool:
    status = _status(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return status != HTTPStatus.NOT_IMPLEMENTED
    return status in _UNSETTLED_STATUSES or _code(error) in _UNSETTLED_CODES


def _status(error: ClientError) -> int:
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")


def _said(error: ClientError) -> str:
    return f"operation=`{error.operation_name}` status=`{_status(error)}` code=`{_code(error)}`"
