from contextlib import closing

import pytest

from onceward.exit_codes import ExitCode
from onceward.wire.identifiers import WorkflowId
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.refusal import Refusal
from onceward_controller.cli.workflows import prefixes
from tests.support.scripted_listing import ScriptedListing
from tests.support.services import Agent, Site, chain

DOCS = Invocation(workspace_given="docs")
FIRST = WorkflowId("wf_" + "abcdef0".ljust(32, "0"))
SECOND = WorkflowId("wf_" + "abcdef1".ljust(32, "0"))


def test_a_prefix_finds_its_workflow_with_and_without_its_wf() -> None:
    with closing(Agent(Site().open())) as agent:
        workflow = agent.create("monday", chain(1))
        agent.create("tuesday", chain(1))
        assert prefixes.whole(agent, DOCS, workflow[:9]) == workflow
        assert prefixes.whole(agent, DOCS, workflow[3:9]) == workflow


def test_a_whole_id_is_not_looked_up() -> None:
    listing = ScriptedListing()
    assert prefixes.whole(listing, DOCS, FIRST) == FIRST
    assert listing.asked == 0


@pytest.mark.parametrize("typed", ["abcde", "wf_abcde", "", "wf_", "ABCDEF", "abcdxyz", "../../x"])
def test_what_is_too_short_or_no_id_is_refused(typed: str) -> None:
    with pytest.raises(Refusal, match="6 or more characters") as refused:
        prefixes.whole(ScriptedListing(), DOCS, typed)
    assert refused.value.code is ExitCode.USAGE


def test_an_ambiguous_prefix_lists_what_it_could_mean() -> None:
    with pytest.raises(Refusal, match="2 workflows begin with `abcdef`") as refused:
        prefixes.whole(ScriptedListing([FIRST, SECOND]), DOCS, "abcdef")
    assert refused.value.code is ExitCode.USAGE
    assert FIRST in refused.value.fact
    assert SECOND in refused.value.fact


def test_a_workflow_that_two_pages_show_is_one() -> None:
    listing = ScriptedListing([FIRST], [FIRST])
    assert prefixes.whole(listing, DOCS, "abcdef0") == FIRST
    assert listing.asked == 2


def test_an_unknown_prefix_names_the_workspace_it_was_looked_for_in() -> None:
    with pytest.raises(Refusal, match="no workflow of the workspace `docs`") as refused:
        prefixes.whole(ScriptedListing([FIRST]), DOCS, "fedcba")
    assert refused.value.code is ExitCode.NOT_FOUND


def test_a_prefix_is_not_called_unique_before_everything_was_searched() -> None:
    pages = [[FIRST]] * (prefixes.PAGES_MAX + 1)
    with pytest.raises(Refusal, match="too many workflows"):
        prefixes.whole(ScriptedListing(*pages), DOCS, "abcdef")
