"""What the comparison with other systems rests on: kept vectors, fusion, checks of citations."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from storybot.bot import Storybot
from storybot.embedding import QUESTION, Embedder
from storybot.settings import PACKAGED_MODEL, load_settings

BENCH = Path(__file__).resolve().parents[2] / "eval" / "bench"


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def test_vectors_are_kept_from_run_to_run_and_questions_are_not(tmp_path: Path) -> None:
    from peers import RememberingEmbedder

    told: list[int] = []
    texts = ["The bridge is shut.", "Ferries sail again.", "The bridge is shut."]
    first = RememberingEmbedder(PACKAGED_MODEL, tmp_path, told.append)
    try:
        made = first.vectors(texts)
        first.vectors(["When does it open?"], priority=QUESTION)
    finally:
        first.close()
    plain = Embedder(PACKAGED_MODEL)
    try:
        assert np.allclose(made, plain.vectors(texts), atol=1e-5)
    finally:
        plain.close()
    second = RememberingEmbedder(PACKAGED_MODEL, tmp_path, told.append)
    second.close()  # a closed embedder cannot embed: what it still gives was kept
    assert np.array_equal(second.vectors(texts), made)
    assert told == [2]
    assert len(second._kept) == 2


class Leg:
    def __init__(self, *rows: int) -> None:
        self.rows = rows

    def search(self, question: str, k: int) -> list[tuple[int, float]]:
        return [(row, 1.0) for row in self.rows[:k]]


def test_fusion_adds_the_reciprocal_ranks_of_both_legs() -> None:
    from peers import Fusion

    found = Fusion(Leg(7, 3, 5), Leg(3, 9)).search("", 3)
    assert [row for row, _ in found] == [3, 7, 9]
    assert found[0][1] == pytest.approx(1 / 61 + 1 / 62)


def test_a_citation_is_checked_against_the_ledger_and_a_sentence_against_it(
    tmp_path: Path,
) -> None:
    from dataclasses import replace

    from asking import Done, _check_citations

    now = datetime(2026, 3, 1, tzinfo=UTC)
    with Storybot.open(load_settings(data_dir=tmp_path), background=False) as bot:
        body = "Sallow Bridge shut on Monday.\n\nInspector Ada Lindqvist found 14 broken bolts."
        bot.ingest(f"Bridge shut\n\n{body}".encode(), source="bridge.txt", now=now)
        answer = bot.ask("How many broken bolts did Ada Lindqvist find?", now=now)
        assert answer.sentences

        def checked(text: str, shift: int = 0) -> Done:
            first = answer.sentences[0]
            cited = tuple(replace(c, start=c.start + shift) for c in first.citations)
            done = Done("", "", True, {}, False, 0.0)
            altered = replace(answer, sentences=(replace(first, text=text, citations=cited),))
            _check_citations(bot, altered, done)
            return done

        honest = answer.sentences[0].text
        assert (checked(honest).exact, checked(honest).stands) == (1, 1)
        assert checked(honest, shift=1).exact == 0
        assert checked("Ada Lindqvist found 41 broken bolts.").stands == 0
        assert checked("Eva Lindqvist found 14 broken bolts.").stands == 0


def test_a_part_of_the_results_is_exchanged_alone() -> None:
    from quality import between

    document = between(between("# Results\n", "corpus", "old"), "small", "kept")
    changed = between(document, "corpus", "new\n\ntable")
    assert "old" not in changed
    assert changed.count("<!-- quality: corpus -->") == 1
    assert changed.index("new\n\ntable") < changed.index("kept")
    with pytest.raises(SystemExit, match="corpus"):
        between("<!-- quality: corpus -->\n", "corpus", "new")


def test_the_quiz_leaves_out_what_stands_everywhere(tmp_path: Path) -> None:
    from quality import quiz_questions

    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"id": "1", "date": "2024-02-09", "question": "Who?", "answer": "Ada Lindqvist"}\n'
        '{"id": "2", "date": "2024-02-09", "question": "How many?", "answer": "1,200"}\n'
        '{"id": "3", "date": "2024-02-09", "question": "Which?", "answer": "Eel"}\n'
    )
    nulls = tmp_path / "nulls.jsonl"
    nulls.write_text('{"id": "4", "date": "2024-02-09", "question": "When?", "answer": "1912"}\n')
    found = quiz_questions(path, nulls)
    assert [(each.id, each.answerable) for each in found] == [("1", True), ("4", False)]
    assert found[0].holds("It was ADA  Lindqvist’s bridge.") is False
    assert found[0].holds("It was “Ada Lindqvist”.")
    assert found[0].now == datetime(2024, 2, 10, tzinfo=UTC)
