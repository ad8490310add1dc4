"""The tables and curves of a run, as Markdown and as a picture."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from asking import DEPTHS, NAMES, Done, Run, System

from storybot.bot import DECLINE_BELOW
from storybot.evaluation import metrics


def _share(hits: Sequence[bool | None]) -> str:
    known = [each for each in hits if each is not None]
    return f"{sum(known) / len(known):.3f}" if known else "–"


def _count(hits: Sequence[bool | None]) -> str:
    known = [each for each in hits if each is not None]
    return f"{sum(known)}/{len(known)} ({sum(known) / len(known):.1%})" if known else "–"


def _times(values: Sequence[float | None]) -> str:
    known = sorted(each for each in values if each is not None)
    if not known:
        return "–"
    return f"{statistics.median(known):.0f} / {known[int(0.95 * (len(known) - 1))]:.0f}"


def _row(system: System, done: Sequence[Done], embedding_ms: float) -> dict[str, str]:
    asked = [each for each in done if each.answerable]
    said = [each for each in done if each.words]
    answer_ms = [each.answer_ms for each in done if each.answer_ms is not None]
    e = system == "e"  # the others never decline and cite nothing
    return {
        "": NAMES[system],
        **{f"has it in {k}": _share([each.held[k] for each in asked]) for k in DEPTHS},
        "in the answer": _share([each.right for each in asked]),
        "right, with its citation": _count([each.cited for each in asked]),
        "and from a story the set names": _count([each.home for each in asked]),
        "words an answer": f"{statistics.mean(each.words for each in said):.0f}" if said else "–",
        "declined: unanswerable": _count([each.declined for each in done if not each.answerable])
        if e else "never",
        "declined: answerable": _count([each.declined for each in asked]) if e else "never",
        "declined: answer in the top ten": _count(
            [each.declined for each in asked if each.at_hand]
        ) if e else "never",
        "quotes exact": f"{sum(d.exact for d in done)}/{sum(d.citations for d in done)}"
        if e else "–",
        "figures and names stand": f"{sum(d.stands for d in done)}/{sum(d.sentences for d in done)}"
        if e else "–",
        "ms to search": _times([each.search_ms for each in done]),
        "ms to answer": _times(answer_ms),
        "of one embedding": f"x {statistics.median(answer_ms) / embedding_ms:.0f}"
        if answer_ms else "–",
    }  # fmt: skip


QUIZ_LEAVES_OUT = {
    "right, with its citation", "and from a story the set names", "declined: answerable",
}  # fmt: skip
CORPUS_LEAVES_OUT = {"declined: answer in the top ten"}


def table(made: Run, *, leave_out: set[str], group: str | None = None) -> str:
    """The Markdown table of a run, or of one group of its questions."""
    embedding_ms = statistics.median(made.embedding_ms)
    rows = []
    for system, done in made.done.items():
        mine = [each for each in done if group is None or each.group == group]
        if mine:
            rows.append(_row(system, mine, embedding_ms))
    if not rows:
        return "No question of it was asked."
    heads = [head for head in rows[0] if head not in leave_out]
    lines = [heads, ["---"] * len(heads), *([row[head] for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def gains(made: Run) -> str:
    """Storybot against plain fusion: ratios with intervals, and groups won and lost."""
    theirs = {each.id: each for each in made.done.get("c", [])}
    ours = [each for each in made.done.get("e", []) if each.id in theirs]
    if not ours:
        return ""
    rows = [[f"storybot over (c), {len(ours)} questions", "difference (95 %)", "ratio (95 %)",
             "floor / aim", "weeks better / same / worse"], ["---"] * 5]  # fmt: skip
    groups = [each.group for each in ours]
    for name, floor, of in _MEASURES:
        mine = [float(of(each)) for each in ours]
        others = [float(of(theirs[each.id])) for each in ours]
        gain = metrics.paired_bootstrap(mine, others, groups)
        net: dict[str, float] = {}
        for group, a, b in zip(groups, mine, others, strict=True):
            net[group] = net.get(group, 0.0) + a - b
        better, worse = (sum(sign * each > 0 for each in net.values()) for sign in (1, -1))
        rows.append(
            [
                name,
                f"{gain.difference:+.3f} ({gain.difference_low:+.3f} to "
                f"{gain.difference_high:+.3f})",
                f"{gain.ratio:.2f} ({gain.ratio_low:.2f} to {gain.ratio_high:.2f})",
                floor,
                f"{better} / {len(net) - better - worse} / {worse}",
            ]
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


_MEASURES: tuple[tuple[str, str, Callable[[Done], bool]], ...] = (
    ("has it in 1", "", lambda done: done.held[1]),
    ("has it in 3", "", lambda done: done.held[3]),
    ("has it in 5", "1.05 / 1.20", lambda done: done.held[5]),
    ("has it in 10", "", lambda done: done.held[10]),
    ("in the answer", "1.25 / 1.60", lambda done: bool(done.right)),
)


def calibration(done: Sequence[Done], title: str, path: Path) -> str:
    """Draw how the chance of an answer compares with what was observed; say it in a line."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    chances = [each.chance or 0.0 for each in done]
    answerable = [each.answerable for each in done]
    right = [each.answerable and bool(each.would_be_right) for each in done]
    bins = metrics.reliability(chances, answerable)
    right_bins = metrics.reliability(chances, right)
    points = metrics.risk_coverage(chances, right)
    answered = [chance >= DECLINE_BELOW for chance in chances]
    coverage = sum(answered) / len(done)
    risk = sum(a and not r for a, r in zip(answered, right, strict=True)) / max(1, sum(answered))
    figure, (left, rightmost) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    left.plot([0, 1], [0, 1], color="0.7", linestyle=":", label="calibrated")
    for each, label, style in (
        (bins, "the stories answer it", "o-"),
        (right_bins, "the best sentences answer it", "s--"),
    ):
        left.plot([b.probability for b in each], [b.observed for b in each], style, label=label)
    left.axvline(DECLINE_BELOW, color="0.5", linewidth=1, label="declined below")
    left.set(xlabel="probability given", ylabel="share observed", xlim=(0, 1), ylim=(0, 1.02))
    left.set_title(f"Probability of an answer ({title}, n = {len(done)})", fontsize=10)
    left.legend(fontsize=8, loc="lower right")
    rightmost.plot([x for x, _ in points], [y for _, y in points], drawstyle="steps-post")
    rightmost.plot([coverage], [risk], "o", label=f"at {DECLINE_BELOW}")
    rightmost.set(
        xlabel="share of questions answered, the surest first",
        ylabel="share of those answered wrongly",
        xlim=(0, 1), ylim=(0, 1),
    )  # fmt: skip
    rightmost.set_title("Risk by coverage", fontsize=10)
    rightmost.legend(fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return (
        f"Probability of an answer, {title}: mean distance from the share answerable "
        f"{metrics.calibration_error(bins):.3f}, from the share right "
        f"{metrics.calibration_error(right_bins):.3f}; {coverage:.0%} of all questions are "
        f"answered, {risk:.0%} of these wrongly."
    )
