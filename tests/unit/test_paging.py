"""Which operations lie on a page."""

import pytest

from onceward_controller.protocol.paging import (
    FINISHED_PER_PAGE,
    Finished,
    decode,
    encode,
    overflow,
    reference,
)


def finished(*indexes: int) -> dict[int, Finished]:
    return {at: Finished(revision=at + 2, succeeded=True) for at in indexes}


@pytest.mark.parametrize(
    "indexes",
    [(0,), (7,), (8,), (0, 7, 8), (5, 6, 300), tuple(range(256)), tuple(range(1, 600, 3))],
    ids=str,
)
def test_a_reference_holds_what_is_on_the_page_and_nothing_else(indexes: tuple[int, ...]) -> None:
    page = reference("page", finished(*indexes))
    held = [at for at in range(700) if page.holds(at)]
    assert held == sorted(indexes)
    assert page.count == len(indexes)
    assert page.digest == "page"
    assert not page.holds(-1)


def test_a_page_is_as_short_as_its_span() -> None:
    assert len(reference("page", finished(*range(9_000, 9_256))).members) == 32


@pytest.mark.parametrize(
    ("count", "moved"),
    [
        (0, 0),
        (FINISHED_PER_PAGE - 1, 0),
        (FINISHED_PER_PAGE, FINISHED_PER_PAGE),
        (FINISHED_PER_PAGE + 1, FINISHED_PER_PAGE),
        (3 * FINISHED_PER_PAGE, FINISHED_PER_PAGE),
    ],
)
def test_a_full_page_moves_and_no_less(count: int, moved: int) -> None:
    assert len(overflow(finished(*range(count)), ())) == moved


def test_the_lowest_indexes_move_first_whatever_order_they_finished_in() -> None:
    backwards = finished(*range(FINISHED_PER_PAGE + 9, -1, -1))
    assert list(overflow(backwards, ())) == list(range(FINISHED_PER_PAGE))


def test_what_was_given_up_or_is_in_doubt_stays() -> None:
    all_of_them = finished(*range(FINISHED_PER_PAGE + 2))
    all_of_them[3] = Finished(revision=5, succeeded=False)
    all_of_them[4] = Finished(revision=6, succeeded=True, suspected=True)
    moved = overflow(all_of_them, ())
    assert len(moved) == FINISHED_PER_PAGE
    assert {3, 4}.isdisjoint(moved)
    del all_of_them[0]
    assert overflow(all_of_them, ()) == {}


def test_a_page_reads_back_as_it_was_written() -> None:
    content = finished(*range(FINISHED_PER_PAGE))
    assert decode(encode(content)) == content


def test_an_operation_that_came_back_from_its_page_does_not_move_to_a_second_one() -> None:
    content = finished(*range(FINISHED_PER_PAGE))
    page = reference("0" * 64, content)
    assert overflow(content, (page,)) == {}
