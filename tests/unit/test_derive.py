import hmac
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceward_controller.vault.keys.derive import NAME_CHARACTERS, RootKeys, name

ROOT = bytes(range(32))

# Recorded: a change of any of them loses every object, id or credential of every vault there is.
GOLDEN = {
    "keyring": "fb086536de9be566d82da134f43ae6cfa528c1f5e26e0232fb33ec916fb6fa47",
    "object_names": "4a0582f856143ee73e01d8eb4ff0aa63fc7c85365c97c9482c789ff712afe4d4",
    "ids": "1dd8d2b0ea6fd732b777d706bc8254da9121fd06ca64bdef74d8dff9eb990412",
    "lease_tokens": "75a0c057d2ba2a49150955fb366bceafc0e50d9283a8e110095112d372191549",
    "token_pepper": "a5d6cead4c1ea758fdb6c2eebd916175608af900aca90589d8a5a79b5a78544c",
    "sessions": "71b646dc287c339d82297fafd67fe4702bbded5695a6a3caf777852fdc350c64",
    "csrf": "0c2bd73b0d0854702a08fa99729e224030a01dd8452fcb78778d5f59eb05c929",
    "checkpoint_mac": "ddbc9f0595a2ec2821db6de9ef5b60899967f270f6e07b2e35490a4d3a30125b",
    "salt": "f72de96516090c00b51d207054140a98ef70b4a57446f1bbd6393600ce2b4084",
    "index_rows": "759f1b3e443393cb87297acc1627b2cb967f65a604f3e391e60b0359b568e3d5",
    "tombstones": "304782f0cc153fda2e8ecaac34337c01a3d096b68b6616ba3196467a135768ad",
    "export_seed": "8f87898107d9650844b75486e641af8bd5e5ef8eb982b54063851292caee047e",
}


@pytest.mark.parametrize(("label", "expected"), GOLDEN.items())
def test_each_key_is_the_recorded_one(label: str, expected: str) -> None:
    assert getattr(RootKeys(ROOT), label).hex() == expected


def test_a_key_is_one_expand_step_of_its_label() -> None:
    expected = hmac.digest(ROOT, b"onceward root 1 object names\x01", "sha512")[:32]

    assert RootKeys(ROOT).object_names == expected


def test_every_key_that_there_is_stands_in_the_record() -> None:
    keys = {label for label in vars(RootKeys) if not label.startswith("_")}

    assert keys == set(GOLDEN)


def test_no_two_labels_and_no_two_roots_share_a_key() -> None:
    roots = [RootKeys(ROOT), RootKeys(bytes(32))]
    keys = [getattr(root, label) for root in roots for label in GOLDEN] + [ROOT, bytes(32)]

    assert len(set(keys)) == len(keys)


def test_a_key_is_derived_once() -> None:
    keys = RootKeys(ROOT)

    assert keys.ids is keys.ids


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_root_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        RootKeys(bytes(size))


def test_the_keys_show_nothing_of_the_root() -> None:
    assert "\\x01" not in repr(RootKeys(ROOT))
    assert ROOT.hex() not in repr(RootKeys(ROOT))


def test_names_are_the_recorded_ones() -> None:
    assert name(ROOT, "docs", "worker", "order-17") == "h9fn8t3mak3qa2uqa3ucf1k169amgb9n"
    assert name(ROOT) == "qe5k42bdg3q5v0jb8iktao3tssi9d90l"
    assert name(ROOT, "größe") == "bl36uf0uqmq24068fa63kpdrclhvjcjr"


def test_a_name_depends_on_where_its_fields_end() -> None:
    lists = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ("abc", ""),
        ("", "abc"),
        ("a", "b", "c"),
        ("",),
        (),
    ]
    names = [name(ROOT, *fields) for fields in lists]

    assert len(set(names)) == len(names)


def test_a_name_depends_on_its_key() -> None:
    assert name(ROOT, "a") != name(bytes(32), "a")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_name_is_32_characters_that_every_store_takes(fields: list[str]) -> None:
    named = name(ROOT, *fields)

    assert len(named) == NAME_CHARACTERS
    assert set(named) <= set("0123456789abcdefghijklmnopqrstuv")


def test_names_of_equal_prefixes_are_unlike() -> None:
    names = sorted(name(ROOT, "key", str(number)) for number in range(200))

    assert all(left[:8] != right[:8] for left, right in pairwise(names))
