"""Curves from step records, whatever the trainer counts from and however many steps a rollout has."""

from hypothesis import given
from hypothesis import strategies as st

from openrecipes.correctness.curve import Curve, Point, points_of
from openrecipes.logs.step import StepRecord


def records(*numbers: int | None, global_batch: int | None = 4) -> tuple[StepRecord, ...]:
    return tuple(
        StepRecord(step=number, loss=2.0, lr=1e-5, grad_norm=1.0, global_batch=global_batch) for number in numbers
    )


def test_steps_count_from_zero_whatever_the_trainer_calls_its_first() -> None:
    points = points_of(records(1, 2, 3), first_number=1)
    assert [point.step for point in points] == [0, 1, 2]
    assert {(point.loss, point.lr, point.grad_norm) for point in points} == {(2.0, 1e-5, 1.0)}


def test_target_tokens_are_the_mean_of_the_rows_times_the_rows() -> None:
    points = points_of(records(0, 1), supervised={0: 4940.0, 1: 5000.5})
    assert [point.target_tokens for point in points] == [19760.0, 20002.0]
    assert points_of(records(0))[0].target_tokens is None


def test_a_rollout_of_two_steps_gives_both_its_mean() -> None:
    points = points_of(records(0, 1, 2, 3), supervised={0: 100.0, 1: 200.0})
    assert [point.target_tokens for point in points] == [400, 400, 800, 800]


def test_a_record_without_a_number_has_no_place() -> None:
    assert [point.step for point in points_of(records(0, None, 1))] == [0, 1]


def test_missing_and_repeated_steps_are_named() -> None:
    curve = Curve(name="x", points=tuple(Point(step=step) for step in (0, 2, 2, 5)))
    assert (curve.steps, curve.missing, curve.repeated) == ((0, 2, 5), (1, 3, 4), (2,))


def test_a_wild_step_number_names_so_many_missing_steps_and_no_more() -> None:
    assert len(Curve(name="x", points=(Point(step=10**15),)).missing) == 1000


@given(st.lists(st.integers(0, 30), max_size=40))
def test_every_step_is_there_missing_or_after_the_last(numbers: list[int]) -> None:
    curve = Curve(name="x", points=tuple(Point(step=number) for number in numbers))
    assert sorted((*curve.steps, *curve.missing)) == list(range(max(numbers, default=-1) + 1))
