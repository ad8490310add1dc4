"""The public JSON is as its published schemas say, and they change only on purpose."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from helpers import ROOT, Cli, copied, lines, story
from storybot.shapes import AnswerShape, answer_from, schemas

PUBLISHED = ROOT / "docs" / "schemas"


def valid(name: str, value: object) -> None:
    schema = json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(value)


@pytest.fixture(scope="module")
def newsroom(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(copied(corpus_dir, tmp_path_factory.mktemp("shapes") / "data"))


def test_the_published_schemas_are_those_of_the_code() -> None:
    """When this fails on purpose: python -m storybot.shapes docs/schemas."""
    published = {path.stem: path.read_text(encoding="utf-8") for path in PUBLISHED.iterdir()}
    assert published == schemas()


@pytest.fixture(scope="module")
def answered(newsroom: Cli) -> dict[str, Any]:
    question = "When did the Sallow bridge reopen?"
    return newsroom.json("ask", "--json", question, "--now", "2026-10-01")


def test_an_answer_is_as_published(answered: dict[str, Any]) -> None:
    valid("answer", answered)
    assert (answered["schema"], answered["status"]) == ("storybot.answer/1", "answered")
    assert answered["text"] == " ".join(each["text"] for each in answered["sentences"]) != ""


def test_a_declined_question_is_as_published(newsroom: Cli) -> None:
    answer = newsroom.json("ask", "--json", "Who is the king of Peru?")
    valid("answer", answer)
    assert (answer["status"], answer["sentences"], answer["text"]) == ("declined", [], "")


def test_every_citation_stands_in_the_story_it_names(
    newsroom: Cli, answered: dict[str, Any]
) -> None:
    cited = [each for sentence in answered["sentences"] for each in sentence["citations"]]
    assert cited
    for each in cited:
        shown = newsroom.json(
            "stories", "show", each["story_id"], "--revision", each["revision"], "--json"
        )
        valid("story", shown)
        assert shown["body"][each["start"] : each["end"]] == each["quote"]


def test_search_stories_and_check_are_as_published(newsroom: Cli) -> None:
    found = newsroom.json("search", "--json", "bridge", "-k", "5")
    valid("search", found)
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3, 4, 5]
    listed = newsroom.json("stories", "--json", "--limit", "1000")
    valid("stories", listed)
    assert len(listed["stories"]) == 70
    checked = newsroom.json("check", "--json")
    valid("check", checked)
    assert checked == {**checked, "stories": 70, "pending": 0, "faults": [], "repaired": False}


def test_ingest_reports_are_as_published(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "stories.jsonl"
    file.write_bytes(lines([story(1)]) + b"{}\n")
    result = cli("ingest", "--json", file)
    report = json.loads(result.stdout)
    valid("ingest", report)
    assert (report["added"], report["updated"], report["unchanged"]) == (1, 0, 0)
    assert (report["failed"][0]["source"], report["failed"][0]["line"]) == (str(file), 2)
    assert report["failed"][0]["reason"]
    assert report["failed"][0]["hint"]
    assert result.exit_code == 1


def test_an_answer_can_be_sent_back_as_history(answered: dict[str, Any]) -> None:
    again = answer_from(AnswerShape.model_validate(answered))
    assert again.question == answered["question"]
    assert [c.quote for s in again.sentences for c in s.citations] == [
        c["quote"] for s in answered["sentences"] for c in s["citations"]
    ]
