"""The figures of a run are worked out as they say."""

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storybot.evaluation.metrics import (
    calibration_error,
    held_at,
    paired_bootstrap,
    reliability,
    risk_coverage,
)


def test_passages_of_any_size_are_compared_on_the_same_characters() -> None:
    passages = ["a" * 800, "b" * 800, "needle " + "c" * 800]

    def holds(said: str) -> bool:
        return "needle" in said

    assert held_at(passages, holds, (1, 2, 3)) == {1: False, 2: False, 3: True}
    assert held_at(["a" * 895 + "needle"], holds, (1,)) == {1: False}
    assert held_at(["a" * 895 + "needle"], holds, (2,)) == {2: True}
    assert held_at([], lambda _: True, (1,)) == {1: False}


def test_a_gain_is_the_mean_difference_and_its_interval_holds_it() -> None:
    random = Random(7)
    ours = [float(random.random() < 0.6) for _ in range(120)]
    theirs = [float(random.random() < 0.4) for _ in range(120)]
    weeks = [at // 10 for at in range(120)]
    gain = paired_bootstrap(ours, theirs, weeks)
    assert gain.difference == pytest.approx((sum(ours) - sum(theirs)) / 120)
    assert gain.ratio == pytest.approx(sum(ours) / sum(theirs))
    assert gain.difference_low < gain.difference < gain.difference_high
    assert gain.ratio_low < gain.ratio < gain.ratio_high
    assert gain == paired_bootstrap(ours, theirs, weeks)


def test_cases_of_a_group_are_drawn_together() -> None:
    ours = [1.0] * 10 + [0.0] * 10
    theirs = [0.0] * 20
    apart = paired_bootstrap(ours, theirs, range(20))
    together = paired_bootstrap(ours, theirs, [0] * 10 + [1] * 10)
    assert (together.difference_low, together.difference_high) == (0.0, 1.0)
    assert 0.0 < apart.difference_low < apart.difference_high < 1.0


def test_a_ratio_to_nothing_is_said_so() -> None:
    assert paired_bootstrap([1.0], [0.0], ["week"]).ratio == math.inf
    assert paired_bootstrap([0.0], [0.0], ["week"]).ratio == 1.0
    with pytest.raises(ValueError, match="no cases"):
        paired_bootstrap([], [], [])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_bins_keep_every_case_and_part_none_of_one_probability(
    cases: list[tuple[float, bool]],
) -> None:
    chances, true = [p for p, _ in cases], [t for _, t in cases]
    bins = reliability(chances, true, bins=5)
    assert sum(each.count for each in bins) == len(cases)
    assert sum(each.observed * each.count for each in bins) == pytest.approx(sum(true))
    means = [each.probability for each in bins]
    assert all(after - before > -1e-9 for before, after in pairwise(means))
    assert len(bins) <= min(5, len(set(chances)))
    assert 0 <= calibration_error(bins) <= 1


def test_a_calibrated_guess_has_no_error() -> None:
    chances = [0.25] * 4 + [0.75] * 4
    true = [True, False, False, False, True, True, True, False]
    assert calibration_error(reliability(chances, true, bins=2)) == 0
    assert calibration_error(reliability(chances, [not each for each in true], bins=2)) == 0.5


def test_risk_rises_as_less_sure_questions_are_answered() -> None:
    assert risk_coverage([0.9, 0.8, 0.8, 0.1], [True, True, False, False]) == [
        (0.25, 0.0),
        (0.75, pytest.approx(1 / 3)),
        (1.0, 0.5),
    ]
