"""Words, times and what may reach a terminal."""

import msgspec
import pytest

from onceward_controller.cli.terminal import moments
from onceward_controller.cli.terminal.printable import printable, printable_json
from onceward_controller.cli.workflows import lines as workflow_list

NOW_MS = 1_800_000_000_000
SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("gap_ms", "said"),
    [
        (0, "now"),
        (-999, "now"),
        (40 * SECOND_MS, "in 40 s"),
        (-90 * SECOND_MS, "90 s ago"),
        (-3 * MINUTE_MS, "3 min ago"),
        (8 * HOUR_MS - 20, "in 8 h"),
        (-47 * HOUR_MS, "47 h ago"),
        (-400 * DAY_MS, "400 d ago"),
    ],
)
def test_a_distance_is_told_in_one_unit(gap_ms: int, said: str) -> None:
    assert moments.distance(NOW_MS + gap_ms, now_ms=NOW_MS) == said


@pytest.mark.parametrize(
    ("text", "length_ms"),
    [("90s", 90_000), ("30m", 1_800_000), ("8h", 28_800_000), ("7d", 604_800_000)],
)
def test_a_duration_is_read_as_it_is_said(text: str, length_ms: int) -> None:
    assert moments.parse_duration_ms(text) == length_ms


@pytest.mark.parametrize(
    "text", ["", "8", "h", "8 h", "-1h", "0h", "1.5h", "8H", "9999999d", "8h8"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        moments.parse_duration_ms(text)


def test_a_time_that_a_broken_clock_wrote_is_still_shown() -> None:
    assert moments.clock(2**53) == "9007199254740992 ms"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 日本", "plain ünï 日本"),
        ("\x1b[2Kgone", r"\x1b[2Kgone"),
        ("a\nb\rc\td", r"a\nb\rc\td"),
        ("\x9b31m", r"\x9b31m"),
        ("user\u202etxt", r"user\u202etxt"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("\x7f", r"\x7f"),
    ],
)
def test_a_text_from_elsewhere_cannot_command_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_json_keeps_its_meaning_and_loses_what_commands_a_terminal() -> None:
    value = {"label": "a\x9b31m\u202eb\u2028", "more": ["\x7f", "\n"]}
    written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    shown = printable_json(written)
    assert msgspec.json.decode(shown) == value
    assert all(character == "\n" or character == printable(character) for character in shown)


def test_ids_are_shown_as_far_as_they_differ() -> None:
    alike = ["wf_" + "a" * 9 + "b" * 23, "wf_" + "a" * 9 + "c" * 23]
    assert workflow_list.id_characters(alike) == len("wf_") + 10
    assert workflow_list.id_characters([alike[0], alike[0]]) == workflow_list.ID_CHARACTERS
