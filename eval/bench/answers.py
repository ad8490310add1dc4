"""Answer whole sets and print how many answers are right, cited, declined, how long, how fast.

    python eval/bench/answers.py [--data FOLDER]

corpus/ with eval/sets/corpus.jsonl, by half; and, where FOLDER has them, one real
story with its questions and a quiz over real news.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from storybot import text
from storybot.bot import Storybot
from storybot.evaluation.sets import Case, half_of, judge, load_cases
from storybot.ingest.run import find_inputs
from storybot.settings import load_settings
from storybot.types import Answer, Turn

ROOT = Path(__file__).resolve().parents[2]
QUIZ_CHARACTERS = 900
QUIZ_WORDS = 60


@dataclass(slots=True)
class Line:
    """One row of the table."""

    name: str
    answerable: int = 0
    right: int = 0
    wrongly_declined: int = 0
    unanswerable: int = 0
    declined: int = 0
    exact: int = 0
    citations: int = 0
    words: list[int] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)

    def cells(self) -> list[str]:
        def share(part: int, whole: int) -> str:
            return f"{part}/{whole} ({part / whole:.0%})" if whole else "none"

        p95 = sorted(self.ms)[int(0.95 * (len(self.ms) - 1))]
        return [
            self.name,
            share(self.right, self.answerable),
            share(self.wrongly_declined, self.answerable),
            share(self.declined, self.unanswerable),
            share(self.exact, self.citations),
            f"{statistics.median(self.words):.0f}" if self.words else "-",
            f"{statistics.median(self.ms):.0f} / {p95:.0f}",
        ]


HEADINGS = [
    "set",
    "right, with its citation",
    "answerable but declined",
    "unanswerable and declined",
    "quotes exact at their offsets",
    "words an answer (median)",
    "ms a question (median / 95th)",
]


@contextmanager
def collection(inputs: Sequence[str]) -> Iterator[Storybot]:
    """A bot over the inputs in a temporary data directory, every vector written."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder))
        with Storybot.open(settings, background=False) as bot:
            files, missing = find_inputs(inputs)
            if missing:
                raise SystemExit(f"not there: {', '.join(each.source for each in missing)}")
            for path in files:
                with path.open("rb") as file:
                    bot.ingest(file, source=str(path))
            bot.collection.embed_pending()
            bot.ask("Is anything there?")
            yield bot


def run_cases(bot: Storybot, cases: Sequence[Case], lines: dict[str, Line]) -> None:
    """Ask every case in its conversation and add it to the line of its half."""
    turns: dict[str, list[Turn]] = {}
    for case in cases:
        line = lines.get(half_of(case)) or lines["all"]
        history = turns[case.follows] if case.follows else []
        start = time.perf_counter()
        answer = bot.ask(case.question, history=history, now=case.now)
        line.ms.append((time.perf_counter() - start) * 1000)
        turns[case.id] = [*history, Turn(case.question, answer)]
        judged = judge(case, answer)
        if case.answerable:
            line.answerable += 1
            line.right += bool(judged.cited)
            line.wrongly_declined += judged.declined
        else:
            line.unanswerable += 1
            line.declined += judged.declined
        note_citations(bot, answer, line)


def note_citations(bot: Storybot, answer: Answer, line: Line) -> None:
    """Count an answer's words and whether its quotes stand at their offsets."""
    if answer.sentences:
        line.words.append(text.word_count(answer.text))
    for sentence in answer.sentences:
        for citation in sentence.citations:
            body = bot.story(citation.story_id, citation.revision)[1].body
            line.citations += 1
            line.exact += body[citation.start : citation.end] == citation.quote == sentence.text


@dataclass(slots=True)
class Quiz:
    """Scores of quiz questions, whose gold answer's words must stand as a run."""

    questions: int = 0
    passages: dict[int, int] = field(default_factory=lambda: {1: 0, 3: 0, 5: 0, 10: 0})
    answers: int = 0
    declined_with_answer_at_hand: int = 0
    at_hand: int = 0
    ms: list[float] = field(default_factory=list)


def run_quiz(bot: Storybot, path: Path) -> Quiz:
    """Ask the quiz; golds under four characters or of digits alone are left out."""
    quiz = Quiz()
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        gold = text.bare(case["answer"])
        if len(gold) < 4 or gold.replace(" ", "").isdigit():
            continue
        start = time.perf_counter()
        answer = bot.ask(case["question"])
        quiz.ms.append((time.perf_counter() - start) * 1000)
        quiz.questions += 1
        for k in quiz.passages:
            joined = "\n".join(hit.passage.text for hit in answer.hits[:k])
            quiz.passages[k] += text.holds(joined[: QUIZ_CHARACTERS * k], gold)
        there = any(text.holds(hit.passage.text, gold) for hit in answer.hits)
        quiz.at_hand += there
        quiz.declined_with_answer_at_hand += there and answer.status == "declined"
        quiz.answers += text.holds(" ".join(answer.text.split()[:QUIZ_WORDS]), gold)
    return quiz


def commit() -> str:
    """The short name of the commit, marked when the tree differs from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared", help="outside data")
    data = parser.parse_args().data
    rows = [HEADINGS, ["---"] * len(HEADINGS)]
    with collection([str(ROOT / "corpus")]) as bot:
        lines = {half: Line(f"corpus, {half} half") for half in ("tuning", "reporting")}
        run_cases(bot, load_cases(ROOT / "eval/sets/corpus.jsonl"), lines)
        rows += [line.cells() for line in lines.values()]
    story = data / "stories"
    if story.is_dir():
        with collection([str(path) for path in sorted(story.glob("*.txt"))]) as bot:
            single = {"all": Line("one story")}
            run_cases(bot, load_cases(story / "questions.jsonl"), single)
            rows.append(single["all"].cells())
    print(f"At {commit()}:\n")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    quiz_stories = data / "newsquiz/stories-small.jsonl.gz"
    if quiz_stories.is_file():
        with collection([str(quiz_stories)]) as bot:
            quiz = run_quiz(bot, data / "newsquiz/questions-small.jsonl")
        has = ", ".join(f"{n / quiz.questions:.3f} at {k}" for k, n in quiz.passages.items())
        print(
            f"\nSmall news quiz, {quiz.questions} questions: has it in the passages {has}; in the "
            f"answer {quiz.answers / quiz.questions:.3f}; declined "
            f"{quiz.declined_with_answer_at_hand} of the {quiz.at_hand} with the answer at hand; "
            f"{statistics.median(quiz.ms):.0f} ms a question (median)."
        )


if __name__ == "__main__":
    main()
