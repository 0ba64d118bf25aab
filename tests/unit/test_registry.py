"""What a worker finds in a module or file of the user, and how it refuses what it cannot use."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onceward_worker import registry
from onceward_worker.registry import RegistryError

TOOL = """
import onceward as ow

@ow.tool("{name}", version="{version}")
def {function}(call: ow.Call) -> ow.Receipt:
    return call.succeeded()
"""


@pytest.fixture(autouse=True)
def nothing_imported_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a registry imported, and search only where this test put something."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    yield
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) is None:
            continue
        if Path(str(sys.modules[name].__file__)).is_relative_to(tmp_path):
            del sys.modules[name]


def declared(name: str, version: str = "1", function: str = "run") -> str:
    return TOOL.format(name=name, version=version, function=function)


def written(path: Path, *parts: str) -> str:
    path.write_text("\n".join(parts), encoding="utf-8")
    return str(path)


def refusal(source: str) -> str:
    with pytest.raises(RegistryError) as caught:
        registry.load(source)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_every_tool_at_module_level_is_found_in_the_order_it_stands_there(tmp_path: Path) -> None:
    source = written(
        tmp_path / "tools.py", declared("second", function="a"), declared("first", function="b")
    )

    assert [tool.name for tool in registry.load(source)] == ["second", "first"]


def test_a_module_is_found_by_its_dotted_name_in_the_folder_one_stands_in(tmp_path: Path) -> None:
    (tmp_path / "mailroom").mkdir()
    written(tmp_path / "mailroom" / "letters.py", declared("post"))

    assert [tool.name for tool in registry.load("mailroom.letters")] == ["post"]


def test_a_file_imports_what_lies_beside_it_from_wherever_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep" / "where_it_goes.py", "DESTINATION = 'outbox'")
    source = written(
        tmp_path / "deep" / "tools.py",
        "from where_it_goes import DESTINATION",
        "import onceward as ow",
        "@ow.tool('post', destination=DESTINATION)",
        "def post(call): return call.succeeded()",
    )

    assert [tool.destination for tool in registry.load(source)] == ["outbox"]


def test_a_tool_that_stands_there_under_two_names_is_one_tool(tmp_path: Path) -> None:
    source = written(tmp_path / "tools.py", declared("post"), "again = run")

    assert len(registry.load(source)) == 1


def test_two_versions_of_a_tool_are_two_tools(tmp_path: Path) -> None:
    source = written(
        tmp_path / "tools.py",
        declared("post", "1", function="old"),
        declared("post", "2", function="new"),
    )

    assert [tool.version for tool in registry.load(source)] == ["1", "2"]


def test_two_tools_of_one_name_and_version_are_refused_with_both_variables(tmp_path: Path) -> None:
    source = written(
        tmp_path / "tools.py", declared("post", function="here"), declared("post", function="there")
    )

    assert refusal(source) == (
        "two tools share name and version: tool=`post` version=`1` variables=`here`, `there`"
    )


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "nowhere.py")) == f"no such file: path=`{tmp_path}/nowhere.py`"


def test_a_missing_module_is_told_from_a_module_that_misses_another(tmp_path: Path) -> None:
    written(tmp_path / "needy.py", "", "import not_installed_anywhere")

    assert refusal("not_a_module").startswith("no such module here: name=`not_a_module`")
    assert refusal("needy") == (
        f"importing it failed at {tmp_path}/needy.py:2: ModuleNotFoundError: "
        "No module named 'not_installed_anywhere': source=`needy`"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param("x = (", "1: SyntaxError: '(' was never closed", id="syntax"),
        pytest.param("\n\n1 / 0", "3: ZeroDivisionError: division by zero", id="exception"),
        pytest.param("\nimport sys; sys.exit(3)", "2: SystemExit: 3", id="exit"),
        pytest.param(
            "import onceward as ow\nok = ow.tool('Not A Name')(lambda call: call)",
            "2: ValueError: ",
            id="a-declaration-that-is-out-of-range",
        ),
    ],
)
def test_a_failed_import_names_the_line_of_the_users_file(
    tmp_path: Path, code: str, said: str
) -> None:
    source = written(tmp_path / "broken.py", code)

    assert refusal(source).startswith(f"importing it failed at {tmp_path}/broken.py:{said}")


def test_a_failure_below_the_registry_names_the_line_below(tmp_path: Path) -> None:
    written(tmp_path / "below.py", "", "", "raise RuntimeError('no luck')")
    source = written(tmp_path / "tools.py", "import below")

    assert f"failed at {tmp_path}/below.py:3: RuntimeError: no luck" in refusal(source)


def test_a_file_without_tools_says_how_one_is_declared(tmp_path: Path) -> None:
    source = written(tmp_path / "tools.py", "def post(call): ...")

    assert refusal(source).startswith("no tools at module level: declare one with @ow.tool(...)")
