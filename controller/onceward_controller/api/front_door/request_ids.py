"""The name of one request, in its reply and in our logs; ours, and never taken from a client."""

from onceward.ports import Entropy
from onceward.wire import base32hex

_RANDOM_BYTES = 10


def new_request_id(entropy: Entropy) -> str:
    """Return a name that no other request has."""
    return f"rq_{base32hex.encode(entropy.take(_RANDOM_BYTES))}"
