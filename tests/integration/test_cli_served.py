"""Every command against a controller that ``onceward up`` runs: data, words and exit codes."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from onceward.system import SystemClock
from onceward.transport import HttpController
from onceward.wire import messages
from onceward.wire.decisions import Granted
from onceward.wire.identifiers import WorkspaceName
from onceward.wire.messages import WorkflowView
from onceward.wire.receipts import Outcome, Receipt
from onceward.wire.secrets import Secret
from onceward_controller.cli.profile import Profile
from tests.support.operator_program import Program

EVIDENCE = ("--evidence", "the mailbox shows it")
DEFINITION = {
    "key": "monday",
    "label": "Monday report",
    "operations": [
        {
            "name": "send",
            "tool": "send-mail",
            "destination": "smtp://mail.example",
            "arguments": {"to": "ann@example.com"},
            "max_in_flight_ms": 0,
        },
        {"name": "archive", "tool": "upload"},
    ],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = Program(tmp_path_factory.mktemp("served"))
    with program.up():
        yield program


@pytest.fixture(scope="module")
def agent(served: Program) -> Iterator[HttpController]:
    """What an agent does meanwhile, with the administrator's token."""
    known = known_of(served)
    token = Secret(known.token_file.read_text().strip())
    workspace = WorkspaceName("default")
    with closing(
        HttpController(known.url, token, workspace=workspace, clock=SystemClock())
    ) as made:
        yield made


@pytest.fixture
def program(served: Program, request: pytest.FixtureRequest) -> Program:
    """The running controller, and a workspace of this test's own."""
    name = request.node.name.split("[")[0].replace("_", "-")[-60:].strip("-")
    return served.telling(ONCEWARD_WORKSPACE=name)


def known_of(program: Program) -> Profile:
    path = program.home / "config/onceward/profiles/default.json"
    return msgspec.json.decode(path.read_bytes(), type=Profile)


def created(program: Program, agent: HttpController, **changes: object) -> WorkflowView:
    body = msgspec.convert({**DEFINITION, **changes}, messages.CreateWorkflow)
    return agent.create_workflow(WorkspaceName(program.variables["ONCEWARD_WORKSPACE"]), body)


def stopped(program: Program, agent: HttpController) -> WorkflowView:
    """Return a workflow whose one attempt said that it cannot tell."""
    workflow = created(program, agent).id
    agent.enable(workflow)
    grant = agent.begin(workflow, messages.Begin(request_id="r" * 16))
    assert isinstance(grant, Granted)
    receipt = Receipt(outcome=Outcome.UNKNOWN, operation_id=grant.operation_id)
    body = messages.Complete(
        attempt=grant.attempt,
        lease_token=grant.lease_token,
        receipt=receipt,
        then_begin=messages.Begin(request_id="s" * 16),
    )
    agent.complete(workflow, grant.operation, body)
    return agent.workflow(workflow)


def resolved(view: WorkflowView, *how: str) -> tuple[str, ...]:
    return ("wf", "resolve", view.id, "send", *how, "--revision", str(view.revision))


# ------------------------------------------------------------------------------------------ reading


def test_a_workflow_is_created_once_under_its_key(program: Program) -> None:
    body = json.dumps(DEFINITION)
    first = program.run("workflows", "create", "-", stdin=body).data
    second = program.run("workflows", "create", "-", stdin=body).data
    assert first == second
    assert (first["status"], first["revision"]) == ("draft", 1)


def test_a_definition_may_lie_in_a_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "definition.json").write_text(json.dumps(DEFINITION))
    ran = program.run("workflows", "create", str(tmp_path / "definition.json"))
    assert ran.data["key"] == "monday"


def test_a_listing_is_one_json_document_in_a_pipe(program: Program, agent: HttpController) -> None:
    view = created(program, agent)
    page = program.run("workflows", "list").data
    assert [(row["id"], row["row_class"]) for row in page["rows"]] == [(view.id, "draft")]
    assert page["after"] == ""


def test_a_listing_filters_pages_and_collects(program: Program, agent: HttpController) -> None:
    ids = {created(program, agent, key=f"key-{number}").id for number in range(3)}
    by_key = program.run("wf", "list", "--key", "key-1").data["rows"]
    assert [row["key"] for row in by_key] == ["key-1"]
    first = program.run("wf", "list", "--limit", "2")
    assert len(first.data["rows"]) == 2
    assert "there is more: --all" in first.err
    rest = program.run("wf", "list", "--limit", "2", "--after", first.data["after"]).data["rows"]
    every = program.run("wf", "list", "--limit", "1", "--all").data["rows"]
    assert {row["id"] for row in [*first.data["rows"], *rest]} == ids
    assert {row["id"] for row in every} == ids
    assert program.run("wf", "list", "--class", "done").data["rows"] == []


def test_a_workflow_is_found_by_the_beginning_of_its_id(
    program: Program, agent: HttpController
) -> None:
    view = created(program, agent)
    assert program.run("wf", "show", view.id[:9]).data["id"] == view.id
    assert program.run("wf", "history", view.id[3:9]).data["changes"][0]["event"] == "created"


def test_a_history_goes_on_after_a_revision(program: Program, agent: HttpController) -> None:
    workflow = created(program, agent).id
    program.run("wf", "enable", workflow, "--yes")
    changes = program.run("wf", "history", workflow, "--after", "1").data["changes"]
    assert [(change["revision"], change["event"]) for change in changes] == [(2, "enabled")]


# ------------------------------------------------------------------------------------------- acting


def test_a_workflow_is_enabled_and_paused(program: Program, agent: HttpController) -> None:
    workflow = created(program, agent).id
    assert program.run("wf", "enable", workflow, "--yes").data["status"] == "enabled"
    assert program.run("wf", "pause", workflow).data["status"] == "paused"


def test_a_person_says_that_it_happened(program: Program, agent: HttpController) -> None:
    view = stopped(program, agent)
    ran = program.run(
        *resolved(view, "--succeeded", "--effect-id", "mail-3", *EVIDENCE, "--yes"),
        "--result",
        '{"id": 3}',
    )
    [send, archive] = ran.data["operations"]
    assert (send["status"], send["assurance"]) == ("succeeded", "operator_attested")
    assert send["receipt"]["effect_id"] == "mail-3"
    assert send["receipt"]["result"] == {"id": 3}
    assert archive["next"] == "execute"


def test_a_call_that_may_still_land_did_not_not_happen_yet(
    program: Program, agent: HttpController
) -> None:
    ran = program.run(*resolved(stopped(program, agent), "--not-executed", *EVIDENCE, "--yes"))
    assert ran.code == 5
    assert "code=`may_still_land` allowed_from=`20" in ran.err
    assert "next: wait, look at the destination once more" in ran.err


def test_one_operation_is_given_up(program: Program, agent: HttpController) -> None:
    view = stopped(program, agent)
    abandon = ("wf", "abandon", view.id, "--operation", "send", *EVIDENCE, "--yes", "--revision")
    ran = program.run(*abandon, str(view.revision))
    assert [each["status"] for each in ran.data["operations"]] == ["abandoned", "pending"]
    again = program.run(*abandon, str(ran.data["revision"]))
    assert (again.code, "code=`workflow_finished`" in again.err) == (5, True)


def test_a_workflow_is_given_up(program: Program, agent: HttpController) -> None:
    view = created(program, agent)
    ran = program.run("wf", "abandon", view.id, *EVIDENCE, "--yes", "--revision", "1")
    assert ran.data["status"] == "abandoned"
    [row] = program.run("wf", "list").data["rows"]
    assert (row["row_class"], row["status"]) == ("done", "abandoned")


def test_a_status_says_by_its_exit_code_that_a_person_is_needed(
    program: Program, agent: HttpController
) -> None:
    quiet = program.run("status")
    assert (quiet.code, quiet.data["store"], quiet.data["needs_you"]) == (0, "reachable", [])
    view = stopped(program, agent)
    loud = program.run("status")
    assert loud.code == 3
    assert [row["id"] for row in loud.data["needs_you"]] == [view.id]
    assert loud.data["counts"]["attention"] == 1
    assert abs(loud.data["clock_apart_ms"]) < 5_000


# -------------------------------------------------------------------------------------- credentials


def test_a_credential_does_what_its_role_may_and_no_more(
    program: Program, agent: HttpController
) -> None:
    workflow = created(program, agent).id
    made = program.run(
        "credential", "create", "--role", "worker", "--workflow", workflow[:9], "--ttl", "30m",
        "--token-only",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert made.out.startswith("oww_")
    assert made.out.count("\n") == 1
    worker = program.telling(ONCEWARD_TOKEN=made.out.strip())
    assert worker.run("wf", "show", workflow).code == 0
    denied = worker.run("wf", "enable", workflow, "--yes")
    assert (denied.code, "code=`role_denied`" in denied.err) == (4, True)


def test_an_operators_credential_is_for_one_workspace(program: Program) -> None:
    made = program.run("credential", "create", "--role", "operator", "--principal", "bob").data
    bob = program.telling(ONCEWARD_TOKEN=made["token"])
    assert bob.run("wf", "list").code == 0
    assert bob.run("wf", "list", "--workspace", "elsewhere").code == 6
    workflow = bob.run("wf", "create", "-", stdin=json.dumps(DEFINITION)).data["id"]
    [change] = bob.run("wf", "history", workflow).data["changes"]
    assert change["actor"] == "bob"


def test_the_administrators_token_comes_by_stdin(program: Program) -> None:
    made = program.run("credential", "create", "--role", "admin").data
    stranger = Program(program.home / "stranger").telling(ONCEWARD_URL=known_of(program).url)
    stranger.home.mkdir(exist_ok=True)
    without = stranger.run("credential", "create", "--role", "admin")
    assert (without.code, "--token-stdin" in without.err) == (2, True)
    ran = stranger.run("credential", "create", "--role", "admin", "--token-stdin",
                       stdin=made["token"] + "\n")  # fmt: skip
    assert (ran.code, ran.data["token"][:4]) == (0, "owa_")


# ----------------------------------------------------------------------------------------- refusals


def test_another_definition_under_a_key_leads_to_the_first(
    program: Program, agent: HttpController
) -> None:
    view = created(program, agent)
    body = json.dumps({**DEFINITION, "operations": DEFINITION["operations"][:1]})
    ran = program.run("workflows", "create", "-", stdin=body)
    assert ran.code == 5
    assert "next: look at the one that is there, or choose another key: " in ran.err
    assert f"onceward workflows show {view.id}" in ran.err


def test_a_decision_on_an_old_revision_is_refused(program: Program, agent: HttpController) -> None:
    view = stopped(program, agent)
    stale = msgspec.structs.replace(view, revision=view.revision - 1)
    ran = program.run(*resolved(stale, "--succeeded", *EVIDENCE, "--yes"))
    assert (ran.code, "code=`revision_conflict`" in ran.err) == (5, True)


def test_an_act_on_a_draft_says_what_it_is(program: Program, agent: HttpController) -> None:
    ran = program.run("wf", "pause", created(program, agent).id)
    assert (ran.code, "code=`not_enabled`" in ran.err) == (4, True)
