"""What the README tells a newcomer to write does what the README says."""

import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
OWN_TOOL = next(
    block
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    if "def send_letter" in block
)


class PostOffice:
    """Sends letters, and finds the ones it sent."""

    def __init__(self) -> None:
        self.sent: dict[str, int] = {}

    def send(self, text: str, *, reference: str) -> str:
        del text
        self.sent[reference] = self.sent.get(reference, 0) + 1
        return f"letter-{len(self.sent)}"

    def search(self, *, reference: str) -> str | None:
        return "letter-1" if reference in self.sent else None


def test_the_tool_of_the_readme_sends_once_however_often_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    post_office = PostOffice()
    outputs = []

    for _ in range(3):
        names: dict[str, Any] = {"post_office": post_office}
        exec(OWN_TOOL, names)  # noqa: S102 - the README's own words are what is tested
        outputs.append(capsys.readouterr().out)

    assert outputs == ["{'send': {'number': 'letter-1'}}\n"] * 3
    assert list(post_office.sent.values()) == [1]
