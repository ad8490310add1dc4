"""Figures of a run: what passages hold, shares with their uncertainty, calibration."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PASSAGE_CHARACTERS = 900
_DRAWS = 10_000


def held_at(
    passages: Sequence[str], holds: Callable[[str], bool], depths: Sequence[int]
) -> dict[int, bool]:
    """Whether the first 900 x k characters of the first k passages hold what is wanted, by k.

    Passages of different sizes are so compared on the same amount of text.
    """
    return {
        k: holds("\n".join(passages[:k])[: PASSAGE_CHARACTERS * k]) if passages else False
        for k in depths
    }


@dataclass(frozen=True, slots=True)
class Gain:
    """How far one system's mean is from another's on the same cases, with 95 % intervals."""

    difference: float
    difference_low: float
    difference_high: float
    ratio: float
    ratio_low: float
    ratio_high: float


def paired_bootstrap(
    ours: Sequence[float],
    theirs: Sequence[float],
    groups: Sequence[Hashable],
    *,
    seed: int = 0,
) -> Gain:
    """Compare two systems case by case, drawing whole groups with replacement.

    The bounds are percentiles of 10,000 draws (Efron, 1979); cases of one group, as of
    one week, are drawn together because they lean on the same stories. A ratio to a
    mean of 0 is infinite, or 1 where both are 0.
    """
    members: dict[Hashable, list[int]] = {}
    for at, group in enumerate(groups):
        members.setdefault(group, []).append(at)
    sums = np.array(
        [
            [sum(ours[i] for i in rows), sum(theirs[i] for i in rows), len(rows)]
            for rows in members.values()
        ],
        dtype=np.float64,
    )
    if not len(sums):
        raise ValueError("there are no cases to compare")
    drawn = np.random.default_rng(seed).integers(len(sums), size=(_DRAWS, len(sums)))
    totals = sums[drawn].sum(axis=1)
    differences = (totals[:, 0] - totals[:, 1]) / totals[:, 2]
    ratios = _ratio(totals[:, 0], totals[:, 1])
    whole = sums.sum(axis=0)
    low, high = np.percentile(differences, [2.5, 97.5])
    ratio_low, ratio_high = np.percentile(ratios, [2.5, 97.5], method="nearest")
    return Gain(
        float((whole[0] - whole[1]) / whole[2]),
        float(low),
        float(high),
        float(_ratio(whole[:1], whole[1:2])[0]),
        float(ratio_low),
        float(ratio_high),
    )


def _ratio(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    nothing = np.where(ours == 0, 1.0, np.inf)
    return np.divide(ours, theirs, out=nothing, where=theirs > 0)


@dataclass(frozen=True, slots=True)
class Bin:
    """Cases of like probability: their mean probability, the share that came true, how many."""

    probability: float
    observed: float
    count: int


def reliability(
    probabilities: Sequence[float], came_true: Sequence[bool], *, bins: int = 8
) -> list[Bin]:
    """Probabilities against what was observed, in bins of about as many cases each.

    Cases of one probability are never parted.
    """
    order = sorted(zip(probabilities, came_true, strict=True))
    made: list[Bin] = []
    at = 0
    for left in range(bins, 0, -1):
        end = at + round((len(order) - at) / left)
        while 0 < end < len(order) and order[end][0] == order[end - 1][0]:
            end += 1
        part = order[at:end]
        if part:
            made.append(
                Bin(
                    sum(p for p, _ in part) / len(part),
                    sum(true for _, true in part) / len(part),
                    len(part),
                )
            )
        at = max(at, end)
    return made


def calibration_error(bins: Sequence[Bin]) -> float:
    """Mean distance of observed share and probability over the bins, by their cases."""
    total = sum(each.count for each in bins)
    return sum(abs(each.observed - each.probability) * each.count for each in bins) / total


def risk_coverage(
    probabilities: Sequence[float], right: Sequence[bool]
) -> list[tuple[float, float]]:
    """(share answered, share of those answered wrongly), answering the surest first."""
    surest = sorted(zip(probabilities, right, strict=True), key=lambda each: -each[0])
    points: list[tuple[float, float]] = []
    wrong = 0
    for at, (probability, correct) in enumerate(surest, start=1):
        wrong += not correct
        if at == len(surest) or surest[at][0] != probability:
            points.append((at / len(surest), wrong / at))
    return points
