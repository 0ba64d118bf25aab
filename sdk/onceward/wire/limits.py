"""Every bound that both sides of the wire must know.

Units close a name. The asserts at the end hold the relations between bounds; they run at import,
so that a change that breaks one cannot be shipped.
"""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
KIB = 1024
MIB = 1024 * KIB

OPERATIONS_MAX = 200
"""Operations of one declared workflow."""
ATTEMPTS_MAX = 100
"""Granted attempts of one operation; only an operator admits one more."""
RENEWALS_MAX = 10
"""Renewals of one attempt's lease."""
REVISIONS_MAX = 2_000
"""Revisions of a declared workflow after which nothing is dispatched; renewals do not count."""

ARGUMENTS_BYTES_MAX = 64 * KIB
"""Arguments or a result that ride in the revision; larger ones become payload objects."""
RECEIPT_BYTES_MAX = 64 * KIB
"""A receipt as canonical JSON, its inline result included."""
PAYLOAD_BYTES_MAX = 16 * MIB
"""One payload object; a larger result is recorded as omitted, with its size and SHA-256."""
DEFINITION_BYTES_MAX = 192 * KIB
"""A definition as canonical JSON, its arguments not counted."""
BODY_BYTES_MAX = 256 * KIB
"""The body of one JSON request."""
DEPTH_MAX = 32
"""Nesting of JSON arrays and objects."""
INTEGER_MAX = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""

NAME_CHARACTERS_MAX = 64
KEY_CHARACTERS_MAX = 200
LABEL_CHARACTERS_MAX = 120
TAGS_MAX = 8
DESTINATION_CHARACTERS_MAX = 512
EFFECT_ID_CHARACTERS_MAX = 256
REASON_CHARACTERS_MAX = 1_000
EVIDENCE_CHARACTERS_MAX = 2_000
PAGE_ROWS_MAX = 1_000

LEASE_DEFAULT_MS = 120 * SECOND_MS
LEASE_MIN_MS = 1 * SECOND_MS
LEASE_MAX_MS = 15 * MINUTE_MS
TIMEOUT_DEFAULT_MS = 30 * SECOND_MS
TIMEOUT_MAX_MS = HOUR_MS
MAX_IN_FLIGHT_DEFAULT_MS = 60 * SECOND_MS
MAX_IN_FLIGHT_MAX_MS = DAY_MS
RETENTION_MIN_MS = 2 * MINUTE_MS
RETENTION_MAX_MS = 366 * DAY_MS
BACKOFF_CAP_MAX_MS = DAY_MS

CLOCK_ERROR_MS = 5 * SECOND_MS
"""How far two honest clocks may lie apart; a takeover waits this much longer than a lease."""
REPEAT_MARGIN_MS = 30 * SECOND_MS
"""How long before the destination forgets a key the last call under it must have landed."""

assert LEASE_MIN_MS <= LEASE_DEFAULT_MS <= LEASE_MAX_MS
assert ARGUMENTS_BYTES_MAX < BODY_BYTES_MAX < PAYLOAD_BYTES_MAX
assert DEFINITION_BYTES_MAX < BODY_BYTES_MAX
assert RECEIPT_BYTES_MAX < BODY_BYTES_MAX
assert RETENTION_MIN_MS > REPEAT_MARGIN_MS + LEASE_MIN_MS
assert OPERATIONS_MAX * 2 < REVISIONS_MAX, "every operation must fit at least twice"
