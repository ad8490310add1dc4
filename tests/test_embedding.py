"""One thread owns the model; questions go first."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from storybot.embedding import BACKGROUND, QUESTION, Embedder
from storybot.errors import ModelError

BRIDGE = "The bridge over the Sallow was closed after inspectors found cracks."


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    opened = Embedder()
    yield opened
    opened.close()


class Holding:
    """Keeps the model's thread busy until let go, and records what it does next."""

    def __init__(self, embedder: Embedder) -> None:
        self.done: list[str] = []
        self._go = threading.Event()
        begun = threading.Event()

        def wait(_: object) -> None:
            begun.set()
            assert self._go.wait(60)

        self._threads = [threading.Thread(target=embedder._run, args=(wait, QUESTION))]
        self._threads[0].start()
        assert begun.wait(60)
        self._embedder = embedder

    def ask(self, name: str, texts: list[str], priority: int) -> None:
        waiting = self._embedder._queue.qsize()

        def work() -> None:
            self._embedder.vectors(texts, priority=priority)
            self.done.append(name)

        self._threads.append(threading.Thread(target=work))
        self._threads[-1].start()
        while self._embedder._queue.qsize() == waiting:
            pass

    def let_go(self) -> list[str]:
        self._go.set()
        for thread in self._threads:
            thread.join(60)
        return self.done


def test_vectors_have_length_one_and_meaning(embedder: Embedder) -> None:
    rows = embedder.vectors([BRIDGE, "Why is the bridge shut?", "A recipe for eel stew."])
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1], abs=1e-4)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder) -> None:
    texts = [BRIDGE, *(f"Story {n}: {BRIDGE * n}" for n in range(1, 10))]
    together = embedder.vectors(texts)
    assert together[0] == pytest.approx(embedder.vectors([BRIDGE])[0], abs=1e-5)
    assert embedder.encoded([BRIDGE])[0].vector == pytest.approx(together[0], abs=1e-5)
    assert embedder.embed_query(BRIDGE) == pytest.approx(together[0].tolist(), abs=1e-5)


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_nothing_has_no_vector(embedder: Embedder, text: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        embedder.vectors([BRIDGE, text])


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.vectors([]).shape[0] == 0
    assert embedder.token_spans([]) == []


def test_a_question_overtakes_background_work(embedder: Embedder) -> None:
    holding = Holding(embedder)
    holding.ask("background", [f"{n} {BRIDGE}" for n in range(12)], BACKGROUND)
    holding.ask("question", [BRIDGE], QUESTION)
    assert holding.let_go() == ["question", "background"]


def test_background_work_is_cut_small(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = Embedder._encoder
    monkeypatch.setattr(embedder, "_encoder", lambda texts: sizes.append(len(texts)) or real(texts))
    embedder.vectors([f"{n} {BRIDGE}" for n in range(10)], priority=BACKGROUND)
    assert sizes == [4, 4, 2]


def test_pieces_are_counted_while_texts_are_embedded(embedder: Embedder) -> None:
    """The tokenizer fails in some calls when two threads use it."""
    expected = embedder.token_spans([BRIDGE])
    errors: list[Exception] = []
    ended = threading.Event()

    def count() -> None:
        try:
            while not ended.is_set():
                assert embedder.token_spans([BRIDGE]) == expected
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for n in range(30):
            embedder.vectors([f"{n} {BRIDGE}"] * 3)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert errors == []


def test_spans_are_places_in_the_text(embedder: Embedder) -> None:
    text = "Łódź’s 1,000 bridges 🌉 — «шут» 橋です."
    (spans,) = embedder.token_spans([text])
    assert spans == sorted(spans)
    letters = {at for at, char in enumerate(text) if not char.isspace()}
    assert {at for start, end in spans for at in range(start, end)} == letters


def test_a_long_text_is_counted_whole(embedder: Embedder) -> None:
    assert len(embedder.token_spans(["word " * 3_000])[0]) == 3_000


def test_a_closed_model_refuses_what_comes_and_what_waits() -> None:
    embedder = Embedder()
    holding = Holding(embedder)
    failed: list[str] = []

    def late() -> None:
        try:
            embedder.vectors([BRIDGE])
        except ModelError as error:
            failed.append(str(error))

    waiting = threading.Thread(target=late)
    waiting.start()
    while not embedder._queue.qsize():
        pass
    closing = threading.Thread(target=embedder.close)
    closing.start()
    while not embedder._closed:
        pass
    holding.let_go()
    waiting.join(60)
    closing.join(60)
    assert failed == ["The embedding model was closed."]
    with pytest.raises(ModelError, match="closed"):
        embedder.vectors([BRIDGE])


def test_a_model_that_is_not_there_is_named() -> None:
    embedder = Embedder("nobody/no-such-model")
    with pytest.raises(ModelError, match="nobody/no-such-model") as raised:
        embedder.warm_up()
    assert "STORYBOT_EMBEDDING_MODEL" in raised.value.hint
    embedder.close()


def test_what_the_model_raises_comes_as_storybots_error(embedder: Embedder) -> None:
    def out_of_memory(_: object) -> None:
        raise RuntimeError("not enough memory")

    with pytest.raises(ModelError, match="not enough memory"):
        embedder._run(out_of_memory, QUESTION)
    assert embedder.vectors([BRIDGE]).shape == (1, 384)
