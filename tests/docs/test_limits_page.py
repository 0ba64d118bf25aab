"""The page of limits says what the code does."""

import re
from pathlib import Path

import pytest

from onceward.wire import limits

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "limits.md"
ROWS = re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("name", "value"), ROWS)
def test_a_limit_on_the_page_has_the_value_that_the_code_uses(name: str, value: str) -> None:
    assert getattr(limits, name) == int(value)


def test_the_page_lists_the_limits_that_a_user_can_run_into() -> None:
    listed = {name for name, _ in ROWS}
    bounds = {name for name in vars(limits) if name.endswith(("_BYTES_MAX", "S_MAX"))}
    assert bounds - {"TAGS_MAX", "PAGE_ROWS_MAX"} - listed <= {
        name for name in bounds if "CHARACTERS" in name or name.endswith("_MS")
    }
