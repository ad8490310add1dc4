"""The verifier's set keeps to its form, and what it cites stands in the sample stories."""

import json
from collections import Counter
from pathlib import Path

from test_corpus_set import load_stories

SET = Path(__file__).resolve().parents[2] / "eval" / "sets" / "verifier.jsonl"
ALTERED = 25
KINDS = ("number", "unit", "name", "date", "speaker", "stitched_quote", "negation", "swapped_roles")


def test_cases_keep_to_their_form_and_cite_the_stories() -> None:
    cases = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    stories = load_stories()
    assert len({case["id"] for case in cases}) == len(cases)
    kinds = Counter(case["kind"] for case in cases)
    assert kinds == {"verbatim": 100, "paraphrase": 100, **dict.fromkeys(KINDS, ALTERED)}
    for case in cases:
        assert case["passage"] in stories[case["story"]], case["id"]
        assert case["supported"] is (case["kind"] in ("verbatim", "paraphrase")), case["id"]
        verbatim = case["sentence"] in case["passage"]
        assert verbatim is (case["kind"] == "verbatim"), case["id"]
