"""A receipt reaches the controller, or is kept; what was sent for an attempt never changes."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import onceward as ow
from onceward.client import Client
from onceward.delivery import Flushed
from onceward.spool import Spool
from onceward.wire.messages import Complete, Completed, Release, Standing
from onceward.wire.problems import ProblemCode, problem
from tests.support.full_disk import disk_that_can_fill_up
from tests.support.ports import ManualClock
from tests.support.scripted_client import ORIGIN, client_of, uploader
from tests.support.scripted_controller import (
    WORKFLOW,
    ScriptedController,
    accepted,
    done,
    grant,
    lost,
    stop,
    unreachable,
)
from tests.support.spools import opened


@pytest.fixture
def client(spooling_client: Client) -> Client:
    return spooling_client


def failing_for_long(
    controller: ScriptedController, clock: ManualClock, failure: Callable[[], Exception]
) -> None:
    """Let every report fail until nobody would still try."""

    def fail(body: Complete) -> Completed:
        clock.pass_ms(16_000)
        raise failure()

    controller.script("complete", fail, fail)


@pytest.mark.parametrize("failure", [unreachable(), lost()], ids=["nothing-sent", "reply-lost"])
def test_a_report_without_an_answer_is_sent_again_just_as_it_was(
    controller: ScriptedController, client: Client, upload: ow.Tool, failure: Exception
) -> None:
    controller.script("begin", grant("a"))
    controller.script("complete", failure, failure, accepted(done(1)))

    client.run(WORKFLOW, [upload])

    first, second, third = controller.bodies("complete")
    assert first == second == third


def test_a_stop_after_a_lost_report_takes_its_question_back(
    controller: ScriptedController, client: Client, upload: ow.Tool
) -> None:
    controller.script("begin", grant("a"))
    controller.script("complete", lost(), accepted(stop(ow.StopReason.PAUSED, "b")))
    controller.script("release", None)

    with pytest.raises(ow.Stopped):
        client.run(WORKFLOW, [upload])

    asked = controller.bodies("complete")[0].then_begin.request_id
    assert controller.bodies("release") == [Release(request_id=asked)]


def test_what_cannot_be_delivered_is_safe_and_the_message_says_so(
    controller: ScriptedController,
    client: Client,
    clock: ManualClock,
    upload: ow.Tool,
    spool_path: Path,
) -> None:
    controller.script("begin", grant())
    failing_for_long(controller, clock, lost)

    with pytest.raises(ow.UnavailableError, match="safe in the spool"):
        client.run_operation(WORKFLOW, "upload", [upload])
    client.close()

    with closing(opened(spool_path, clock, seed="next")) as spool:
        ((_, kept),) = spool.undelivered(ORIGIN)
        assert kept.receipt.effect_id == "obj-17"


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(lost(), id="cannot-be-delivered"),
        pytest.param(problem(ProblemCode.RECEIPT_CONFLICT, "another"), id="refused-for-good"),
        pytest.param(problem(ProblemCode.ROLE_DENIED, "not yours"), id="another-credential"),
        pytest.param(KeyboardInterrupt(), id="interrupted"),
    ],
)
def test_a_full_disk_does_not_hide_that_a_receipt_is_neither_delivered_nor_kept(
    controller: ScriptedController,
    client: Client,
    clock: ManualClock,
    spool_path: Path,
    refusal: BaseException,
) -> None:
    controller.script("begin", grant())

    def refuse(body: Complete) -> Completed:
        clock.pass_ms(31_000)
        raise refusal

    controller.script("complete", refuse)
    # Whoever cannot deliver says so as one who can try again.
    kind = ow.UnavailableError if isinstance(refusal, ow.UnknownWriteError) else type(refusal)

    with disk_that_can_fill_up() as fill:

        @ow.tool("upload")
        def upload(call: ow.Call) -> ow.Receipt:
            fill()
            return call.succeeded(effect_id="obj-17")

        with pytest.raises(kind) as raised:
            client.run_operation(WORKFLOW, "upload", [upload])

    words = [str(raised.value), *getattr(raised.value, "__notes__", ())]
    assert "neither delivered nor kept" in " ".join(words)
    assert "safe in the spool" not in " ".join(words)
    assert isinstance(raised.value.__cause__, OSError)
    assert list(spool_path.rglob("*.part")) == []


def test_without_a_spool_the_message_says_what_is_lost(
    controller: ScriptedController, clock: ManualClock, upload: ow.Tool
) -> None:
    controller.script("begin", grant())
    failing_for_long(controller, clock, lost)

    with (
        client_of(controller, clock) as client,
        pytest.raises(ow.UnavailableError, match="ends with this process"),
    ):
        client.run_operation(WORKFLOW, "upload", [upload])


def test_the_next_process_delivers_first_and_then_asks(
    controller: ScriptedController,
    client: Client,
    clock: ManualClock,
    upload: ow.Tool,
    spool_path: Path,
) -> None:
    controller.script("begin", grant("a"))
    failing_for_long(controller, clock, unreachable)
    with pytest.raises(ow.UnavailableError):
        client.run(WORKFLOW, [upload])
    client.close()
    (first, *_) = controller.receipts
    controller.asked.clear()
    controller.script("complete", accepted(), accepted(done(1)))
    controller.script("begin", grant("b"))

    with client_of(
        controller, clock, spool=opened(spool_path, clock, seed="next"), seed="next"
    ) as after:
        after.run(WORKFLOW, [upload])

    assert controller.verbs == ["complete", "begin", "complete"]
    assert controller.receipts[0] == first
    assert controller.bodies("complete")[0].then_begin is None


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(problem(ProblemCode.NOT_FOUND, "no such workflow"), id="not-found"),
        pytest.param(problem(ProblemCode.RECEIPT_CONFLICT, "another"), id="conflict"),
        pytest.param(problem(ProblemCode.LEASE_TOKEN_INVALID, "not yours"), id="token"),
    ],
)
def test_what_is_refused_for_good_is_raised_and_kept_as_a_dead_letter(
    controller: ScriptedController,
    client: Client,
    clock: ManualClock,
    upload: ow.Tool,
    spool_path: Path,
    refusal: ow.ProblemError,
) -> None:
    controller.script("begin", grant())
    controller.script("complete", refusal)

    with pytest.raises(type(refusal)):
        client.run_operation(WORKFLOW, "upload", [upload])
    client.close()

    with closing(opened(spool_path, clock, seed="next")) as spool:
        assert spool.undelivered(ORIGIN) == []
        (letter,) = spool.dead_letters()
        assert letter.why == refusal.code.value


def waiting(controller: ScriptedController, client: Client, clock: ManualClock) -> None:
    """Bring the spool to hold a receipt."""
    controller.script("begin", grant())
    failing_for_long(controller, clock, unreachable)
    with pytest.raises(ow.UnavailableError):
        client.run_operation(WORKFLOW, "upload", [uploader([])])
    controller.asked.clear()


def test_a_refusal_of_what_waited_does_not_stop_a_start(
    controller: ScriptedController, client: Client, clock: ManualClock
) -> None:
    waiting(controller, client, clock)
    controller.script("complete", problem(ProblemCode.RECEIPT_CONFLICT, "another"))

    assert client.flush() == Flushed(refused=1)
    assert client.flush() == Flushed()


@pytest.mark.parametrize(
    "code", [ProblemCode.CREDENTIAL_INVALID, ProblemCode.ROLE_DENIED, ProblemCode.INTERNAL]
)
def test_what_another_credential_or_another_day_could_deliver_waits(
    controller: ScriptedController, client: Client, clock: ManualClock, code: ProblemCode
) -> None:
    waiting(controller, client, clock)
    controller.script("complete", problem(code, "no"), accepted())

    assert client.flush() == Flushed(waiting=1)
    assert client.flush() == Flushed(delivered=1)


def test_what_a_dead_process_was_granted_and_never_called_is_given_back_first(
    controller: ScriptedController, clock: ManualClock, spool_path: Path, upload: ow.Tool
) -> None:
    def machine() -> str:
        return "this boot of this machine"

    def spool(seed: str) -> Spool:
        return opened(spool_path, clock, seed=seed, identity=machine)

    with closing(spool("dies")) as dying:
        granted = grant()
        dying.note_grant(
            ORIGIN, WORKFLOW, granted.operation, attempt=1, lease_token=granted.lease_token
        )
    controller.script("release", None)
    controller.script("begin", stop())

    with (
        client_of(controller, clock, spool=spool("next")) as client,
        pytest.raises(ow.Stopped),
    ):
        client.run(WORKFLOW, [upload])

    assert controller.verbs == ["release", "begin"]
    assert controller.bodies("release") == [Release(1, grant().lease_token)]


def test_a_settled_call_leaves_no_note_behind(
    controller: ScriptedController, client: Client, upload: ow.Tool, spool_path: Path
) -> None:
    controller.script("begin", grant())
    controller.script("complete", Completed(Standing.ACCEPTED))

    client.run_operation(WORKFLOW, "upload", [upload])

    assert [path for path in spool_path.rglob("grants/*") if path.is_file()] == []


def test_the_call_is_marked_before_it_is_made(
    controller: ScriptedController, client: Client, spool_path: Path
) -> None:
    seen: list[str] = []

    @ow.tool("upload")
    def upload(call: ow.Call) -> ow.Receipt:
        seen.extend(sorted(path.suffix for path in spool_path.rglob("grants/*")))
        return call.succeeded()

    controller.script("begin", grant())
    controller.script("complete", accepted())

    client.run_operation(WORKFLOW, "upload", [upload])

    assert seen == ["", ".called"]
