"""Measure storybot and what one would otherwise put together, on the same questions.

    python eval/bench/quality.py [--only corpus story small full] [--systems abcde]
                                 [--limit N] [--data FOLDER] [--write]

(a) the tutorial pipeline, (b) BM25, (c) plain rank fusion of both, (d) txtai's hybrid
index, (e) storybot; on corpus/ with eval/sets/corpus.jsonl by half, and, where FOLDER
has them, on one real story and on a quiz over real news. Each question is embedded once
with the clock running, then put to every system in turn, so that they share the load.
--write puts the tables into eval/RESULTS.md, each with its commit, and draws
eval/declining.png. Vectors of passages are kept in .storybot/bench/, and so is what
each system did with each question, as JSON Lines.
"""

import argparse
import gzip
import json
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from asking import KEPT, NAMES, ROOT, Question, Run, System, run, say
from tables import CORPUS_LEAVES_OUT, QUIZ_LEAVES_OUT, calibration, gains, table

from storybot import text
from storybot.evaluation.sets import Case, half_of, load_cases, meets

RESULTS = ROOT / "eval/RESULTS.md"
CURVES = ROOT / "eval/declining.png"
PARTS = ("corpus", "story", "small", "full")


def corpus_questions() -> list[Question]:
    return [_from_case(case, half_of(case)) for case in load_cases(ROOT / "eval/sets/corpus.jsonl")]


def _from_case(case: Case, group: str) -> Question:
    return Question(
        id=case.id,
        text=case.question,
        group=group,
        answerable=case.answerable,
        holds=partial(meets, case),
        now=case.now,
        follows=case.follows,
        evidence=frozenset(each.story.casefold() for each in case.evidence),
    )


def _holds(gold: str, said: str) -> bool:
    return text.holds(said, gold)


def quiz_questions(*paths: Path) -> list[Question]:
    """The quiz by week; golds under four characters or of digits alone are left out.

    Each is asked as at the end of its day. ``nulls.jsonl`` holds those that nothing answers.
    """
    found: list[Question] = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            raw = json.loads(line)
            gold = text.bare(raw["answer"])
            null = path.stem == "nulls"
            if not null and (len(gold) < 4 or gold.replace(" ", "").isdigit()):
                continue
            asked = datetime.fromisoformat(raw["date"]).replace(tzinfo=UTC) + timedelta(days=1)
            found.append(
                Question(
                    raw["id"],
                    raw["question"],
                    group=raw["date"],
                    answerable=not null,
                    holds=partial(_holds, gold),
                    now=asked,
                )
            )
    return found


def commit() -> str:
    """The short name of the commit, marked when the tree differs from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.stdout.strip() or "unknown"


def between(document: str, part: str, block: str) -> str:
    """The document with what stands between a part's markers exchanged, or added at its end."""
    start, end = f"<!-- quality: {part} -->", f"<!-- end: {part} -->"
    head, found, rest = document.partition(start)
    if not found:
        return f"{document.rstrip()}\n\n{start}\n{block}\n{end}\n"
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"{RESULTS} has {start} but not {end}")
    return f"{head}{start}\n{block}\n{end}{tail}"


def keep(made: Run, part: str) -> None:
    """Write down what each system did with each question."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with gzip.open(KEPT / f"quality-{part}.jsonl.gz", "wt", encoding="utf-8") as file:
        for system, done in made.done.items():
            for each in done:
                line = json.dumps({"system": system, **asdict(each)}, ensure_ascii=False)
                file.write(line + "\n")


def measure(part: str, data: Path, systems: Sequence[System], limit: int | None) -> str:
    """Run one part and give its block of Markdown; a line saying so where data are absent."""
    quiz = data / "newsquiz"
    if part == "corpus":
        inputs, questions = [ROOT / "corpus"], corpus_questions()
    elif part == "story":
        folder = data / "stories"
        if not folder.is_dir():
            return f"No {folder}: the real story was not measured."
        inputs = sorted(folder.glob("*.txt"))
        questions = [_from_case(case, "all") for case in load_cases(folder / "questions.jsonl")]
    else:
        ending = "-small" if part == "small" else ""
        inputs = [quiz / f"stories{ending}.jsonl.gz"]
        if not inputs[0].is_file():
            return f"No {inputs[0]}: the {part} news quiz was not measured."
        questions = quiz_questions(quiz / f"questions{ending}.jsonl", quiz / "nulls.jsonl")
    say(f"{part}:")
    made = run([str(path) for path in inputs], questions[:limit], systems)
    keep(made, part)
    asked = sum(each.answerable for each in questions[:limit])
    head = (
        f"At {commit()}: {made.stories} stories, {asked} answerable questions and "
        f"{len(questions[:limit]) - asked} others; passages: "
        + ", ".join(f"{n} ({who})" for who, n in made.passages.items())
        + f". One question's embedding: {statistics.median(made.embedding_ms):.1f} ms (median)."
    )
    blocks = [head]
    if part == "corpus":
        for half in ("tuning", "reporting"):
            blocks += [f"{half.capitalize()} half:"]
            blocks += [table(made, leave_out=CORPUS_LEAVES_OUT, group=half)]
        reporting = [each for each in made.done.get("e", []) if each.group == "reporting"]
        if reporting:
            blocks.append(calibration(reporting, "reporting half", CURVES))
    elif part == "story":
        blocks.append(table(made, leave_out=CORPUS_LEAVES_OUT))
    else:
        blocks += [table(made, leave_out=QUIZ_LEAVES_OUT), gains(made)]
    return "\n\n".join(block for block in blocks if block)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="which sets")
    parser.add_argument("--systems", default="abcde", help="which systems, as in ce")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared", help="outside data")
    parser.add_argument("--write", action="store_true", help="write the tables into RESULTS.md")
    options = parser.parse_args()
    systems = [system for system in NAMES if system in options.systems]
    for part in options.only:
        block = measure(part, options.data, systems, options.limit)
        print(f"## {part}\n\n{block}\n", flush=True)
        if options.write:
            document = RESULTS.read_text(encoding="utf-8")
            RESULTS.write_text(between(document, part, block), encoding="utf-8")


if __name__ == "__main__":
    main()
