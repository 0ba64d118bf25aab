"""What a person sees at 80 columns, to the character, on a vault whose clock stands still."""

from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from onceward.wire import messages
from onceward.wire.capabilities import Capability
from onceward.wire.definitions import OperationDefinition
from onceward.wire.messages import RowClass, WorkflowView
from onceward.wire.receipts import Outcome
from onceward_controller.cli import status_sheet
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.standing import Status
from onceward_controller.cli.workflows import lines as workflow_list
from onceward_controller.cli.workflows import review
from onceward_controller.cli.workflows import sheet as workflow_sheet
from tests.support.services import DOCS, Agent, Site, chain

OPERATIONS = (
    OperationDefinition(name="fetch", tool="fetch", destination="https://source.example"),
    OperationDefinition(
        name="send",
        tool="send-mail",
        version="2",
        destination="smtp://mail.example",
        arguments={"to": "ann@example.com"},
    ),
    OperationDefinition(
        name="archive",
        tool="upload",
        destination="s3://reports",
        capability=Capability(query=True, idempotency_ms=86_400_000),
    ),
)


class Desk:
    """A vault, somebody who works on it, and a terminal of 80 columns."""

    def __init__(self) -> None:
        self.site = Site()
        self.agent = Agent(self.site.open())

    @property
    def now_ms(self) -> int:
        return self.site.clock.wall_ms()

    def draft(self) -> WorkflowView:
        body = messages.CreateWorkflow(
            key="monday", operations=OPERATIONS, label="Monday report", tags=("order-17",)
        )
        return self.agent.create_workflow(DOCS, body)

    def stopped(self) -> WorkflowView:
        """Return a workflow whose second operation was called and never reported."""
        workflow = self.draft().id
        self.agent.enable(workflow)
        self.site.clock.pass_ms(60_000)
        grant = self.agent.granted(workflow)
        self.site.clock.pass_ms(2_000)
        self.agent.report(
            workflow,
            grant,
            Outcome.SUCCEEDED,
            result={"bytes": 5120},
            effect_id="obj-17",
            then_begin=True,
        )
        self.site.clock.pass_ms(130_000)
        self.agent.ask(workflow)
        return self.agent.workflow(workflow)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    with closing(made.agent):
        yield made


def shown(drawing: RenderableType) -> str:
    written = StringIO()
    console = Console(
        file=written, width=80, color_system=None, highlight=False, markup=False, emoji=False
    )
    console.print(drawing, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


SHOWN = """\
wf_fiu4bn35bcaojju0hq2atva4htr3gkvo  Monday report
NEEDS YOU: `send` stopped, and only your decision lets it go on.

key        monday
workspace  docs
tags       order-17
status     enabled, revision 5
created    2027-01-15 08:00:00Z (3 min ago)

Operations
operation  state      guarantee                    if a worker asks now
fetch      succeeded  at most once                 reuse: nothing runs
send       uncertain  at most once                 stop: needs you
archive    pending    exactly once while the key   stop: what comes first needs
                      is valid or if calls land    you
                      within max_in_flight

Attempts
operation  #  mode     granted               what became of it
fetch      1  execute  2027-01-15 08:01:00Z  succeeded, effect obj-17
send       1  execute  2027-01-15 08:01:02Z  never reported; lease ended 10 s
                                             ago

Receipts
operation  what was recorded
fetch      reported by the tool, effect obj-17
           {"bytes": 5120}

Decide: send
  tool          send-mail, version 2
  destination   smtp://mail.example
  arguments     {"to": "ann@example.com"}
  operation id  op_94c6o79mejue8jc14pekk0fn231ugp1b

  attempt 1 (execute) was licensed and never reported: it may have happened; the
  tool cannot ask its destination and it has no idempotency key. Look at the
  destination, then resolve

  It happened.
  It counts as done, and what waits for it goes on.
    onceward workflows resolve wf_fiu4bn35bcaojju0hq2atva4htr3gkvo \\
      send --succeeded \\
      --effect-id 'ID AT THE DESTINATION' \\
      --evidence 'HOW YOU KNOW' --revision 5

  It did not happen.
  Attempt 2 may start. If you are wrong, it happens TWICE. Refused until
  2027-01-15 08:04:07Z, in 55 s: until then a call may still land.
    onceward workflows resolve wf_fiu4bn35bcaojju0hq2atva4htr3gkvo \\
      send --not-executed \\
      --evidence 'HOW YOU KNOW' --revision 5

  I cannot tell.
  Leave it as it is: nothing runs, nothing is lost, somebody else may know. Or
  give it up for good: it never runs again, nor does what waits for it.
    onceward workflows abandon wf_fiu4bn35bcaojju0hq2atva4htr3gkvo \\
      --operation send \\
      --evidence 'HOW YOU KNOW' --revision 5
"""


def test_show_ends_with_what_a_person_can_decide_and_how(desk: Desk) -> None:
    view = desk.stopped()
    assert shown(workflow_sheet.draw(view, Invocation(), now_ms=desk.now_ms)) == SHOWN


def test_commands_to_copy_reach_the_vault_that_was_shown(desk: Desk) -> None:
    view = desk.stopped()
    invocation = Invocation(vault=Path("/srv/agent vault"))
    sheet = shown(workflow_sheet.draw(view, invocation, now_ms=desk.now_ms))
    assert (
        "    onceward --vault '/srv/agent vault' \\\n"
        f"      workflows resolve {view.id} \\\n"
        "      send --succeeded \\\n"
    ) in sheet
    assert sheet.count("onceward --vault '/srv/agent vault' \\\n") == 3


def test_nothing_is_to_decide_while_an_attempt_runs(desk: Desk) -> None:
    workflow = desk.agent.create("monday", chain(1))
    desk.agent.granted(workflow)
    view = desk.agent.workflow(workflow)
    sheet = shown(workflow_sheet.draw(view, Invocation(), now_ms=desk.now_ms))
    assert "Running: `op-0`. Nothing to do for you." in sheet
    assert "running, lease ends in 2 min" in sheet
    assert "Decide" not in sheet


def test_a_paused_workflow_still_shows_what_is_to_decide(desk: Desk) -> None:
    workflow = desk.stopped().id
    desk.agent.pause(workflow)
    view = desk.agent.workflow(workflow)
    sheet = shown(workflow_sheet.draw(view, Invocation(), now_ms=desk.now_ms))
    assert "The workflow is paused, too." in " ".join(sheet.split())
    assert "Decide: send" in sheet


REVIEWED = """\
wf_fiu4bn35bcaojju0hq2atva4htr3gkvo  Monday report
definition 820598cf83396879cdef09329bc0c080612fdac0a55e4a6601a8cc943bdcd856

1. fetch
  tool          fetch, version 1
  destination   https://source.example
  arguments     {}
  operation id  op_0qc20b6rf8fvpj5f2pj8epljjqrd0vmh
  can           neither ask its destination nor repeat safely
  guarantee     at most once
  limits        one call takes at most 30 s; a lease lasts 2 min

2. send
  tool          send-mail, version 2
  destination   smtp://mail.example
  arguments     {"to": "ann@example.com"}
  operation id  op_94c6o79mejue8jc14pekk0fn231ugp1b
  can           neither ask its destination nor repeat safely
  guarantee     at most once
  limits        one call takes at most 30 s; a lease lasts 2 min
  after         fetch

3. archive
  tool          upload, version 1
  destination   s3://reports
  arguments     {}
  operation id  op_64hnb7k7vtcv69eg4u2jaq05fqqq6nuo
  can           ask its destination what happened and repeat under one key for
                24 h
  guarantee     exactly once while the key is valid or if calls land within
                max_in_flight
  limits        one call takes at most 30 s; a lease lasts 2 min
  after         send
"""


def test_a_review_says_what_each_operation_does_and_how_surely(desk: Desk) -> None:
    assert shown(review.draw(desk.draft())) == REVIEWED


LISTED = """\
id           workflow                what to do               done  when
wf_3sl51262  saturday                NEEDS YOU: op-0          0/1   now
wf_fiu4bn35  Monday report           NEEDS YOU: send          1/3   3 min ago
wf_prpsli4b  tuesday                 ready for a worker       0/2   3 min ago
wf_hduvbtps  wednesday               paused: enable to go on  0/1   3 min ago
wf_ivcus6tp  friday-the-report-w...  draft: review, enable    0/1   3 min ago
wf_6lp85dad  thursday                done                     1/1   3 min ago
"""


def test_a_listing_puts_what_needs_a_person_first(desk: Desk) -> None:
    desk.stopped()
    agent = desk.agent
    agent.create("tuesday", chain(2))
    agent.pause(agent.create("wednesday", chain(1)))
    agent.run_all(agent.create("thursday", chain(1)))
    long_key = "friday-the-report-with-a-very-long-key"
    agent.create_workflow(DOCS, messages.CreateWorkflow(key=long_key, operations=chain(1)))
    agent.granted(agent.create("saturday", chain(1)))
    desk.site.clock.pass_ms(200_000)
    page = agent.workflows(DOCS)
    assert shown(workflow_list.draw_rows(page.rows, now_ms=desk.now_ms)) == LISTED


HISTORY = """\
rev  time                  who  what
1    2027-01-15 08:00:00Z  ann  created: 3 operations
2    2027-01-15 08:00:00Z  ann  enabled
3    2027-01-15 08:01:00Z  ann  granted fetch attempt 1: execute
4    2027-01-15 08:01:02Z  ann  reported fetch attempt 1: confirmed_succeeded
4    2027-01-15 08:01:02Z  ann  granted send attempt 1: execute
5    2027-01-15 08:03:12Z  ann  noticed send: a person must decide
"""


def test_a_history_says_when_and_by_whom(desk: Desk) -> None:
    changes = desk.agent.history(desk.stopped().id).changes
    assert shown(workflow_list.draw_changes(changes)) == HISTORY


def test_a_status_ends_with_the_command_for_what_needs_a_person(desk: Desk) -> None:
    workflow = desk.stopped().id
    rows = desk.agent.workflows(DOCS, row_class=RowClass.ATTENTION).rows
    found = Status(
        controller="http://127.0.0.1:8686",
        store="reachable",
        clock_apart_ms=8_000,
        workspace="docs",
        counts={RowClass.ATTENTION: 1, RowClass.DONE: 1000},
        is_counted=False,
        needs_you=rows,
    )
    lines = shown(status_sheet.draw(found, Invocation(), now_ms=desk.now_ms)).split("\n")
    assert "clock       WRONG here or there: 8 s ahead of this machine's" in lines
    assert "  1000 or more  done" in lines
    assert "1 workflow needs you:" in lines
    assert lines[-2] == f"    onceward workflows show {workflow[:11]}"


def test_a_label_cannot_hide_a_line_of_the_sheet(desk: Desk) -> None:
    body = messages.CreateWorkflow(key="k", operations=chain(1), label="\x1b[8mhidden [red]x[/]")
    view = desk.agent.create_workflow(DOCS, body)
    sheet = shown(workflow_sheet.draw(view, Invocation(), now_ms=desk.now_ms))
    assert r"\x1b[8mhidden [red]x[/]" in sheet
    assert "\x1b" not in sheet
