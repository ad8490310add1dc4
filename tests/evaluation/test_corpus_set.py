"""The question set for the sample corpus keeps to its form, and its answers stand in the text."""

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"
CASES_FILE = ROOT / "eval" / "sets" / "corpus.jsonl"

REQUIRED = {"id", "question", "answerable", "evidence", "tags"}
OPTIONAL = {"follows", "answer_contains", "answer_contains_any", "now"}
KINDS = {
    "brief",
    "correction",
    "date",
    "disagreement",
    "fact",
    "false-premise",
    "follow-up",
    "latest",
    "list",
    "live",
    "not-answered",
    "number",
    "opinion",
    "quote",
    "same-name",
    "spanish",
    "topic-change",
    "two-stories",
    "weekday",
    "where",
    "who-said",
    "why",
    "wire-copy",
}
THREADS = {
    "bridge",
    "budget",
    "cannery",
    "election",
    "ferry",
    "flood",
    "football",
    "misc-baldwins",
    "misc-dog",
    "misc-eelgrass",
    "misc-general",
    "misc-heat",
    "misc-herring-fair",
    "misc-low-water",
    "misc-plates",
    "misc-santa-ines",
    "misc-school",
    "misc-storm",
    "misc-stew",
    "misc-stroke-ward",
    "misc-tannahill",
    "strike",
    "trial",
}
AT_LEAST = {
    "correction": 5,
    "date": 20,
    "disagreement": 6,
    "false-premise": 25,
    "follow-up": 25,
    "latest": 15,
    "live": 5,
    "not-answered": 45,
    "number": 25,
    "quote": 15,
    "same-name": 6,
    "spanish": 4,
    "two-stories": 12,
    "where": 8,
    "who-said": 15,
    "why": 8,
}
FOLDS = str.maketrans(
    {
        "“": '"',
        "”": '"',
        "«": '"',
        "»": '"',
        "‘": "'",
        "’": "'",
        "–": "-",
        "—": "-",
        "\u00a0": " ",
        "\u202f": " ",
    }
)


def fold(text: str) -> str:
    return text.translate(FOLDS).casefold()


def load_stories() -> dict[str, str]:
    """Each story's body by its id; a .txt file goes by its path below the corpus folder."""
    bodies: dict[str, str] = {}

    def add(story: str, body: str) -> None:
        assert story not in bodies, f"two stories with the id {story}"
        bodies[story] = body

    for path in sorted(CORPUS.glob("*/*")):
        raw = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            _, front, body = raw.split("---\n", 2)
            add(yaml.safe_load(front)["id"], body)
        elif path.suffix == ".txt":
            add(path.relative_to(CORPUS).as_posix(), raw.split("\n", 1)[1])
        elif path.suffix == ".json":
            item = json.loads(raw)
            add(item["id"], item["text"])
        elif path.suffix == ".jsonl":
            for line in raw.splitlines():
                if line.strip():
                    item = json.loads(line)
                    add(item["id"], item["text"])
    return bodies


def load_cases() -> list[dict[str, Any]]:
    lines = CASES_FILE.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


STORIES = load_stories()
CASES = load_cases()
ANSWERABLE = [case for case in CASES if case["answerable"]]
UNANSWERABLE = [case for case in CASES if not case["answerable"]]
BY_ID = {case["id"]: case for case in CASES}

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
each_answerable = pytest.mark.parametrize("case", ANSWERABLE, ids=lambda case: case["id"])
each_unanswerable = pytest.mark.parametrize("case", UNANSWERABLE, ids=lambda case: case["id"])


def threads_of(case: dict[str, Any]) -> list[str]:
    return [tag.removeprefix("thread:") for tag in case["tags"] if tag.startswith("thread:")]


def kinds_of(case: dict[str, Any]) -> list[str]:
    return [tag for tag in case["tags"] if not tag.startswith("thread:")]


def evidence_text(case: dict[str, Any]) -> str:
    return fold(" ".join(item["quote"] for item in case["evidence"]))


def test_the_corpus_is_whole() -> None:
    assert len(STORIES) == 70


def test_ids_are_unique() -> None:
    assert [name for name, n in Counter(case["id"] for case in CASES).items() if n > 1] == []


def test_no_question_is_asked_twice_in_the_same_conversation() -> None:
    asked = Counter((case.get("follows"), fold(case["question"])) for case in CASES)
    assert [question for question, n in asked.items() if n > 1] == []


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 220
    assert len(ANSWERABLE) >= 150
    assert len(UNANSWERABLE) >= 70


@pytest.mark.parametrize(("kind", "least"), AT_LEAST.items())
def test_there_are_enough_cases_of_each_kind(kind: str, least: int) -> None:
    assert sum(kind in case["tags"] for case in CASES) >= least


def test_every_thread_has_cases() -> None:
    assert {thread for case in CASES for thread in threads_of(case)} == THREADS


def test_every_thread_but_general_knowledge_has_both_sorts() -> None:
    both = {thread for case in ANSWERABLE for thread in threads_of(case)} & {
        thread for case in UNANSWERABLE for thread in threads_of(case)
    }
    assert both == THREADS - {"misc-general"}


def test_every_story_is_evidence() -> None:
    used = {item["story"] for case in ANSWERABLE for item in case["evidence"]}
    assert set(STORIES) - used == set()


@each_case
def test_form(case: dict[str, Any]) -> None:
    assert set(case) >= REQUIRED
    assert set(case) <= REQUIRED | OPTIONAL
    assert isinstance(case["id"], str)
    assert case["id"]
    assert isinstance(case["question"], str)
    assert case["question"].strip() == case["question"] != ""
    assert isinstance(case["answerable"], bool)
    for key in ("answer_contains", "answer_contains_any"):
        if key in case:
            assert case[key], f"{key} is empty"
            assert all(isinstance(words, str) and words.strip() for words in case[key])
    assert all(set(item) == {"story", "quote"} for item in case["evidence"])
    if "now" in case:
        assert datetime.fromisoformat(case["now"]).tzinfo is not None


@each_case
def test_tags(case: dict[str, Any]) -> None:
    assert len(threads_of(case)) == 1
    kinds = kinds_of(case)
    assert kinds
    assert set(kinds) <= KINDS
    assert len(set(case["tags"])) == len(case["tags"])
    assert ("follow-up" in kinds) == ("follows" in case)
    refused = {"not-answered", "false-premise"} & set(kinds)
    assert len(refused) == (0 if case["answerable"] else 1)


@each_case
def test_follows_an_earlier_case_of_its_thread(case: dict[str, Any]) -> None:
    if "follows" not in case:
        return
    earlier = {other["id"] for other in CASES[: CASES.index(case)]}
    assert case["follows"] in earlier
    assert threads_of(BY_ID[case["follows"]]) == threads_of(case)


@each_case
def test_evidence_stands_verbatim(case: dict[str, Any]) -> None:
    for item in case["evidence"]:
        assert item["story"] in STORIES
        assert item["quote"].strip()
        assert item["quote"] in STORIES[item["story"]]


@each_answerable
def test_answer_stands_in_the_evidence(case: dict[str, Any]) -> None:
    all_of = case.get("answer_contains", [])
    any_of = case.get("answer_contains_any", [])
    text = evidence_text(case)
    assert case["evidence"]
    assert all_of or any_of
    assert [words for words in all_of if fold(words) not in text] == []
    assert [words for words in any_of if fold(words) not in text] == []


@each_answerable
def test_two_stories_are_two(case: dict[str, Any]) -> None:
    if "two-stories" in case["tags"]:
        assert len({item["story"] for item in case["evidence"]}) >= 2


@each_answerable
def test_question_does_not_give_the_answer_away(case: dict[str, Any]) -> None:
    question = fold(case["question"])
    any_of = case.get("answer_contains_any", [])
    all_of = case.get("answer_contains", [])
    assert [words for words in any_of if fold(words) in question] == []
    assert not all_of or not all(fold(words) in question for words in all_of)


@each_unanswerable
def test_unanswerable_has_no_answer(case: dict[str, Any]) -> None:
    assert "answer_contains" not in case
    assert "answer_contains_any" not in case
    if "not-answered" in case["tags"]:
        assert case["evidence"] == []
