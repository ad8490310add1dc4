"""Eval sets: cases in JSON Lines, and whether an answer meets a case."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from storybot import text
from storybot.errors import InputError
from storybot.types import Answer


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where an answer stands: a story's declared id or file name, and its words there."""

    story: str
    quote: str


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a set and what its answer must hold."""

    id: str
    question: str
    answerable: bool
    follows: str | None = None
    answer_contains: tuple[str, ...] = ()
    answer_contains_any: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    now: datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """How an answer met its case. ``cited`` is None where the case names no evidence."""

    right: bool
    cited: bool | None
    declined: bool


def load_cases(path: Path) -> list[Case]:
    """Read a set. Raises InputError naming the line that is not a case."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            cases.append(_case(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}, line {number} is not a case: {error}",
                hint="A case needs id, question and answerable.",
                line=number,
            ) from error
    return cases


def _case(raw: dict[str, object]) -> Case:
    def strings(key: str) -> tuple[str, ...]:
        value = raw.get(key) or []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise TypeError(f"{key} must be a list of strings")
        return tuple(value)

    evidence = raw.get("evidence") or []
    if not isinstance(evidence, list):
        raise TypeError("evidence must be a list")
    now = raw.get("now")
    follows = raw.get("follows")
    return Case(
        id=str(raw["id"]),
        question=str(raw["question"]),
        answerable=bool(raw["answerable"]),
        follows=None if follows is None else str(follows),
        answer_contains=strings("answer_contains"),
        answer_contains_any=strings("answer_contains_any"),
        evidence=tuple(Evidence(each["story"], each["quote"]) for each in evidence),
        now=datetime.fromisoformat(str(now)) if now else None,
        tags=strings("tags"),
    )


def meets(case: Case, said: str) -> bool:
    """Whether a text holds all of a case's words, typography and case folded."""
    folded = " ".join(text.fold(said).split())

    def there(wanted: str) -> bool:
        return " ".join(text.fold(wanted).split()) in folded

    if not all(there(wanted) for wanted in case.answer_contains):
        return False
    return not case.answer_contains_any or any(map(there, case.answer_contains_any))


def judge(case: Case, answer: Answer) -> Judgement:
    """Judge an answer: right means its words are there, or that it rightly declined."""
    declined = answer.status == "declined"
    if not case.answerable:
        return Judgement(declined, None, declined)
    quotes = " ".join(c.quote for sentence in answer.sentences for c in sentence.citations)
    right = not declined and meets(case, answer.text)
    return Judgement(right, right and meets(case, quotes), declined)


def half_of(case: Case) -> Literal["tuning", "reporting"]:
    """Which half of a set a case is in, whole story threads together, by a hash of the thread."""
    thread = next((tag for tag in case.tags if tag.startswith("thread:")), case.id)
    odd = int(hashlib.sha256(thread.encode()).hexdigest(), 16) % 2
    return "reporting" if odd else "tuning"
