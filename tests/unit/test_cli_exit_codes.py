import pytest

from onceward import exit_codes
from onceward.exit_codes import ExitCode
from onceward.sealing import IntegrityError
from onceward.wire.problems import (
    CLASSES,
    ConflictError,
    DamagedError,
    DeniedError,
    InvalidError,
    NotFoundError,
    ProblemCode,
    ProblemError,
    UnavailableError,
    UnknownWriteError,
    problem,
)
from onceward_controller.cli import advice, failures, refusal
from onceward_controller.cli.invocation import Invocation
from onceward_controller.cli.private_file import PrivateFileError
from onceward_controller.cli.profile import InUseError
from onceward_controller.vault import store
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.keys.key_file import UnlockError

WORKFLOW = "wf_" + "0" * 32

_BY_CLASS: dict[type[ProblemError], ExitCode] = {
    InvalidError: ExitCode.USAGE,
    DeniedError: ExitCode.PAUSED_OR_DENIED,
    NotFoundError: ExitCode.NOT_FOUND,
    ConflictError: ExitCode.CONFLICT,
    UnavailableError: ExitCode.UNREACHABLE,
    UnknownWriteError: ExitCode.UNREACHABLE,
    DamagedError: ExitCode.NEEDS_PERSON,
}
_BY_THEMSELVES: dict[ProblemCode, ExitCode] = {
    ProblemCode.NOT_ENABLED: ExitCode.PAUSED_OR_DENIED,
    ProblemCode.PAUSED: ExitCode.PAUSED_OR_DENIED,
    ProblemCode.CLOCK_UNSAFE: ExitCode.CLOCK_UNSAFE,
    ProblemCode.CONTENTION: ExitCode.CONFLICT,
    ProblemCode.STORE_REFUSED: ExitCode.NEEDS_PERSON,
}
"""Codes whose class asks for less than they do, or for more."""


def test_exit_codes_are_the_documented_ones() -> None:
    assert [int(code) for code in ExitCode] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130]


@pytest.mark.parametrize("code", ProblemCode)
def test_a_refusal_ends_with_the_exit_code_of_its_reaction(code: ProblemCode) -> None:
    error = problem(code, "it is so")
    expected = _BY_THEMSELVES.get(code, _BY_CLASS[type(error)])
    assert exit_codes.of(error) is expected


def test_every_class_of_problem_has_its_row_here() -> None:
    assert set(_BY_CLASS) == set(CLASSES)


@pytest.mark.parametrize("code", ProblemCode)
def test_a_refusal_says_its_fact_its_code_and_what_to_do_next(code: ProblemCode) -> None:
    found = failures.refusal_of(problem(code, "it is so", limit=7))
    assert found is not None
    lines = refusal.lines(found.fact, found.following).split("\n")
    assert lines[:2] == ["onceward: it is so", f"  code=`{code}` limit=`7`"]
    assert all(line.startswith("  next: ") for line in lines[2:])
    assert "{" not in lines[2]


def test_a_refusal_about_a_workflow_names_it_in_the_next_command() -> None:
    error = problem(ProblemCode.REVISION_CONFLICT, "it changed")
    [following] = advice.following(error, Invocation(), WORKFLOW)
    assert following.endswith(f"onceward workflows show {WORKFLOW}")


def test_a_refusal_that_names_another_workflow_leads_there() -> None:
    error = problem(ProblemCode.DEFINITION_CONFLICT, "it differs", workflow=WORKFLOW)
    [following] = advice.following(error, Invocation(), None)
    assert following.endswith(f"onceward workflows show {WORKFLOW}")


def test_the_next_command_reaches_the_controller_that_refused() -> None:
    error = problem(ProblemCode.PAUSED, "it is paused")
    [following] = advice.following(error, Invocation(url="https://here.example"), WORKFLOW)
    assert following.endswith(f"onceward --url https://here.example workflows enable {WORKFLOW}")


def test_an_act_without_an_answer_says_to_look_before_repeating() -> None:
    error = UnknownWriteError(ProblemCode.UNREACHABLE, "no answer")
    following = advice.following(error, Invocation(), WORKFLOW)
    assert following[0].startswith("it may have happened: look before you repeat it")


def test_a_look_without_an_answer_does_not_say_that_anything_happened() -> None:
    error = UnavailableError(ProblemCode.NOT_REACHED, "no answer")
    assert "may have happened" not in " ".join(advice.following(error, Invocation(), None))


def test_times_in_a_refusal_are_told_as_times() -> None:
    error = problem(
        ProblemCode.MAY_STILL_LAND, "wait", allowed_from_ms=1_800_000_065_000, now_ms=0, attempt=2
    )
    assert advice.fact(error) == (
        "wait\n  code=`may_still_land` allowed_from=`2027-01-15 08:01:05Z` "
        "now=`1970-01-01 00:00:00Z` attempt=`2`"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnlockError("locked"), ExitCode.LOCKED),
        (keyring.NoVaultError("none"), ExitCode.NOT_FOUND),
        (keyring.VaultExistsError("there"), ExitCode.CONFLICT),
        (store.UnavailableError("down"), ExitCode.UNREACHABLE),
        (store.OutcomeUnknownError("lost"), ExitCode.UNREACHABLE),
        (store.RefusedError("no"), ExitCode.NEEDS_PERSON),
        (IntegrityError("damaged"), ExitCode.NEEDS_PERSON),
        (PrivateFileError("open"), ExitCode.FAILED),
        (InUseError("served"), ExitCode.CONFLICT),
    ],
)
def test_what_fails_below_becomes_words_and_a_code(error: Exception, code: ExitCode) -> None:
    found = failures.refusal_of(error)
    assert found is not None
    assert found.code is code
    assert str(error) in found.fact


def test_a_bug_is_not_hidden_behind_words() -> None:
    assert failures.refusal_of(KeyError("a bug")) is None
