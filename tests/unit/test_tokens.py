import copy
import json
import pickle
import re
import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceward.wire import base32hex
from onceward.wire.framing import frame
from onceward.wire.secrets import Secret
from onceward.wire.tokens import RANDOM_BYTES, TOKEN_PATTERN, Role, Token, TokenError, mint, parse

RANDOM = bytes(range(RANDOM_BYTES))
TOKEN = "oww_000g40o40k30e209_185go38e1s8124gj2gahc5oo34d1m70t3ofi08924ci2a9h750kg05f9dq0"


def text_of(token: Token) -> str:
    return token.text.reveal()


def test_a_token_is_written_as_recorded() -> None:
    token = mint(Role.WORKER, RANDOM)

    assert text_of(token) == TOKEN
    assert token.role is Role.WORKER
    assert token.accessor == TOKEN[4:20]
    assert token.secret.reveal() == RANDOM[10:]


@pytest.mark.parametrize(
    ("role", "letter"),
    [
        (Role.ADMIN, "a"),
        (Role.OPERATOR, "o"),
        (Role.INVESTIGATOR, "i"),
        (Role.WORKER, "w"),
        (Role.POOL, "p"),
        (Role.COORDINATOR, "c"),
        (Role.OBSERVER, "v"),
    ],
)
def test_every_role_has_a_prefix_of_its_own(role: Role, letter: str) -> None:
    text = text_of(mint(role, RANDOM))

    assert text.startswith(f"ow{letter}_")
    assert parse(text).role is role


def test_the_table_of_roles_is_complete_and_unambiguous() -> None:
    assert len({role.letter for role in Role}) == len(Role) == 7


@given(st.sampled_from(Role), st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES))
def test_parsing_gives_back_the_token_that_was_minted(role: Role, random: bytes) -> None:
    token = mint(role, random)

    assert parse(text_of(token)) == token
    assert re.fullmatch(TOKEN_PATTERN, text_of(token))


def test_every_change_of_a_single_character_is_refused() -> None:
    changes = [chr(code) for code in range(32, 127)] + ["\n", "\0", "é", "\uff10"]
    for position, character in enumerate(TOKEN):
        for change in changes:
            if change != character:
                with pytest.raises(TokenError):
                    parse(TOKEN[:position] + change + TOKEN[position + 1 :])


def test_every_exchange_of_neighbours_is_refused() -> None:
    for at in range(len(TOKEN) - 1):
        exchanged = TOKEN[:at] + TOKEN[at + 1] + TOKEN[at] + TOKEN[at + 2 :]
        if exchanged != TOKEN:
            with pytest.raises(TokenError):
                parse(exchanged)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "not an onceward token", id="nothing"),
        pytest.param(TOKEN[:-1], "not an onceward token", id="cut"),
        pytest.param(TOKEN + "0", "not an onceward token", id="longer"),
        pytest.param(TOKEN + "\n", "not an onceward token", id="line-end"),
        pytest.param(" " + TOKEN, "not an onceward token", id="space-before"),
        pytest.param(TOKEN.upper(), "not an onceward token", id="upper-case"),
        pytest.param("owx" + TOKEN[3:], "not an onceward token", id="unknown-role"),
        pytest.param("owa" + TOKEN[3:], "mistyped", id="another-role"),
    ],
)
def test_what_is_no_token_is_refused_without_being_repeated(text: str, message: str) -> None:
    with pytest.raises(TokenError, match=message) as refused:
        parse(text)

    assert TOKEN[21:] not in str(refused.value)


def test_unused_bits_of_the_secret_must_be_zero_even_under_a_right_checksum() -> None:
    # The forger recomputes the checksum; the last character of the secret means one bit only.
    body = TOKEN[:72] + "h"
    checksum = base32hex.encode(zlib.crc32(body.encode()).to_bytes(4, "big"))

    with pytest.raises(TokenError, match="unused bits"):
        parse(body + checksum)


@pytest.mark.parametrize("size", [0, RANDOM_BYTES - 1, RANDOM_BYTES + 1])
def test_a_token_is_minted_from_exactly_enough_random_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="exactly 42 random bytes"):
        mint(Role.ADMIN, bytes(size))


def test_a_token_shows_its_role_and_accessor_but_no_secret() -> None:
    shown = repr(mint(Role.WORKER, RANDOM))

    assert "000g40o40k30e209" in shown
    assert TOKEN[21:40] not in shown


@pytest.mark.parametrize("secret", [Secret("hunter2"), Secret(b"hunter2")], ids=["text", "bytes"])
def test_a_secret_shows_nothing_of_itself(secret: Secret[str] | Secret[bytes]) -> None:
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{secret:.3}",
        "%s %r" % (secret, secret),  # noqa: UP031  # Loggers format so.
        repr([secret]),
        repr(vars(type(secret))),
    ]

    assert not any("hunter" in text for text in shown)
    assert not hasattr(secret, "__dict__")


def test_a_secret_cannot_be_encoded_or_copied_to_where_it_would_be_stored() -> None:
    secret = Secret("hunter2")

    leaks: list[Callable[[Any], object]] = [
        json.dumps,
        msgspec.json.encode,
        pickle.dumps,
        copy.deepcopy,
        hash,
        bytes,
    ]

    for leak in leaks:
        with pytest.raises(TypeError) as refused:
            leak(secret)
        assert "hunter" not in str(refused.value)


def test_a_secret_is_revealed_when_asked_by_name() -> None:
    assert Secret("hunter2").reveal() == "hunter2"


def test_secrets_are_equal_when_what_they_hide_is() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("ä") == Secret("ä")
    assert Secret("a") != Secret("b")
    assert Secret("a") != Secret(b"a")
    assert Secret("a") != "a"


@given(st.binary(max_size=40))
def test_base32hex_gives_back_what_it_wrote(data: bytes) -> None:
    text = base32hex.encode(data)

    assert base32hex.decode(text) == data
    assert set(text) <= set(base32hex.ALPHABET)


@given(st.lists(st.binary(min_size=8, max_size=8), max_size=20))
def test_base32hex_keeps_the_order_of_bytes(items: list[bytes]) -> None:
    assert sorted(items, key=base32hex.encode) == sorted(items)


@pytest.mark.parametrize("text", ["1", "0w", "00=", "VV", "01", "0-", "é0", "0 0"])
def test_base32hex_refuses_what_it_would_not_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"base32hex|ASCII"):
        base32hex.decode(text)


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_different_lists_of_fields_are_different_frames(
    left: list[bytes], right: list[bytes]
) -> None:
    assert (frame(*left) == frame(*right)) == (left == right)


def test_a_frame_is_written_as_documented() -> None:
    assert frame(b"ab", b"", b"c") == b"\0\0\0\2ab\0\0\0\0\0\0\0\1c"
    assert frame() == b""
