"""The reference pages say what the code does."""

import re
from pathlib import Path

import pytest
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from onceward.wire import limits
from onceward.wire.problems import CLASSES, ProblemCode, status_of
from onceward.wire.tokens import Role
from onceward_controller import settings
from onceward_controller.api import application
from onceward_controller.api.asking import action_of
from onceward_controller.api.front_door import envelope
from onceward_controller.protocol.authority import MATRIX
from tests.support.services import Site

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
CLASS_OF = {code: kind for kind, codes in CLASSES.items() for code in codes}
ROLES = (Role.ADMIN, Role.OPERATOR, Role.WORKER)


def table(page: str, first_heading: str) -> list[tuple[str, ...]]:
    """Return the rows of the table whose first column is called ``first_heading``."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    found = re.search(rf"^\| {first_heading} \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found is not None, f"{page} has no table of {first_heading}"
    rows = (line.strip("|").split(" | ") for line in found[1].splitlines())
    return [tuple(cell.strip(" `") for cell in row) for row in rows]


def test_the_page_of_problems_lists_every_code_with_its_status_and_class() -> None:
    listed = {code: (status, kind) for code, status, kind, _ in table("problems.md", "code")}

    assert listed == {
        code.value: (str(status_of(code)), CLASS_OF[code].__name__) for code in ProblemCode
    }


def test_the_page_of_problems_says_what_each_class_asks_for() -> None:
    said = {
        kind.__name__: str(kind.__doc__)[:1].lower() + str(kind.__doc__)[1:].rstrip(".")
        for kind in CLASSES
    }

    assert set(table("problems.md", "class")) == set(said.items())


def test_the_page_of_http_lists_every_route_with_who_may() -> None:
    built = application.framework(Site().open(), threads=1)
    routes = {
        row_of(route.path_format, handler)
        for route in built.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        if handler.http_methods != {"OPTIONS"}
    }

    assert set(table("http.md", "method")) == routes


def row_of(path: str, handler: HTTPRouteHandler) -> tuple[str, ...]:
    [method] = handler.http_methods
    if not path.startswith("/v1/"):
        return (str(method), path, "no credential", "yes", "yes", "yes")
    action = action_of(handler)
    may = ("yes" if action is None or action in MATRIX[role] else "no" for role in ROLES)
    return (str(method), path, "any credential" if action is None else action.value, *may)


@pytest.mark.parametrize(
    ("what", "bound"),
    [
        ("path, bytes", envelope.PATH_BYTES_MAX),
        ("query, bytes", envelope.QUERY_BYTES_MAX),
        ("headers in all, bytes", envelope.HEADER_BYTES_MAX),
        ("JSON body, bytes", limits.BODY_BYTES_MAX),
        ("payload, bytes", limits.PAYLOAD_BYTES_MAX),
        ("time from connecting to the end of a head, ms", settings.DEADLINE_MS),
        ("time from there to the reply, ms", settings.DEADLINE_MS),
    ],
)
def test_the_page_of_http_gives_each_bound_as_the_code_has_it(what: str, bound: int) -> None:
    assert (what, str(bound)) in table("http.md", "what")
