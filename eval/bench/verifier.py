"""Show how the verifier judges sentences that their passage supports, and altered ones.

    python eval/bench/verifier.py [--missed KIND]

eval/sets/verifier.jsonl holds both, each with its kind and the passage it cites.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from storybot import verifying
from storybot.types import Citation, Moment, Sentence

SET = Path(__file__).resolve().parents[1] / "sets/verifier.jsonl"


def accepted(case: dict[str, str]) -> bool:
    """Whether the verifier lets a case's sentence through."""
    passage = case["passage"]
    citation = Citation(
        1, case["story"], 1, "", 0, len(passage), passage, "", "", "", Moment("")
    )  # fmt: skip
    sentence = Sentence(case["sentence"], (citation,))
    return verifying.holds(verifying.verify(sentence, lambda _story, _revision: passage))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missed", metavar="KIND", help="print the sentences judged wrongly")
    options = parser.parse_args()
    cases = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    total: Counter[str] = Counter()
    through: Counter[str] = Counter()
    for case in cases:
        kind = case["kind"]
        passes = accepted(case)
        total[kind] += 1
        through[kind] += passes
        if kind == options.missed and passes != case["supported"]:
            print(f"{case['id']}: {case['sentence']}\n    {case['passage']}")
    print("| kind | sentences | let through |\n| --- | --- | --- |")
    for kind, count in total.items():
        print(f"| {kind.replace('_', ' ')} | {count} | {through[kind] / count:.0%} |")


if __name__ == "__main__":
    main()
