"""Every letter stands in one passage, and no passage is longer than the model reads."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import lines
from storybot.bot import Storybot
from storybot.chunking import Chunk, chunk, embedded_text, sentence_spans, vector_key
from storybot.embedding import Embedder
from storybot.types import Moment, Post

MODEL_READS = 256
HEADLINE = "Sallow bridge closed after inspectors find cracks"
PIECES = st.sampled_from(
    [
        "The bridge was closed on Monday. ",
        "Она сказала, что мост закрыт до осени. ",
        "橋は月曜日に閉鎖されました。市長は謝罪した。",
        "7" * 40,
        "https://example.org/a/b?c=d&e=f#g-h_i/",
        "👩‍👩‍👧‍👦🇪🇸🌉",
        "e\u0301a\u0308o\u0302\u0323",
        "مدينة بلا جسر. ",
        "“No,” she said. ",
        "x" * 130,
        "a-b/c.d,e;f:",
        "\u200b\u200d\ufeff",
        "\n",
        "\n\n",
        "   ",
        "\t",
    ]
)
BODIES = st.lists(PIECES, min_size=1, max_size=60).map("".join)
LONG = {
    "English": "The council met on Tuesday and put the vote off until the spring. " * 60,
    "Cyrillic": "Городской совет перенёс голосование на весну из-за наводнения. " * 16,
    "Cyrillic without a full stop": "совет перенёс голосование и " * 60,
    "Chinese": "市议会周二开会将投票推迟到春天因为洪水淹没了旧城区" * 40,
    "digits": "0123456789" * 100,
    "spaced digits": "4 8 15 16 23 42 " * 100,
    "addresses": "https://example.org/archive/2026/03/09/bridge?id=1&page=2#top " * 20,
    "one address": "https://example.org/" + "a/b-c_d.e?f=g&h=" * 200,
    "emoji": "👩‍👩‍👧‍👦🌉🇪🇸" * 200,
    "combining": "e\u0301\u0323a\u0308" * 300,
    "punctuation": "?!…—;:" * 200,
    "one word": "a" * 5_000,
    "Thai": "สะพานปิดตั้งแต่วันจันทร์" * 60,
    "quotations": "“No,” she said. “Never.” " * 80,
    "many lines": "Yes.\n" * 400,
    "no letters between": "\u200b" * 2_000 + "bridge" + "\u00ad" * 2_000,
}


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    opened = Embedder()
    yield opened
    opened.close()


def cut(embedder: Embedder, body: str, headline: str = HEADLINE, **more: object) -> list[Chunk]:
    return chunk(
        headline,
        body,
        embedder.token_spans,
        limit=embedder.limit,
        **more,  # type: ignore[arg-type]
    )


def read_lengths(embedder: Embedder, body: str, chunks: list[Chunk]) -> list[int]:
    """How many pieces the model itself makes of each passage, special ones included."""
    texts = [embedded_text(each.prefix, body[each.start : each.end]) for each in chunks]
    if not texts:
        return []
    return [
        len(ids)
        for ids in embedder._run(
            lambda model: model.tokenizer(texts, truncation=False, verbose=False)["input_ids"], 0
        )
    ]


def assert_whole(body: str, chunks: list[Chunk]) -> None:
    end = 0
    for each in chunks:
        assert end <= each.start < each.end <= len(body)
        assert not body[end : each.start].strip()
        text = body[each.start : each.end]
        assert text == text.strip()
        end = each.end
    assert not body[end:].strip()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=BODIES, headline=st.sampled_from(["", HEADLINE, "Мост " * 60, "見出し" * 60]))
def test_any_text_is_covered_in_order_and_fits(
    embedder: Embedder, body: str, headline: str
) -> None:
    chunks = cut(embedder, body, headline)
    assert_whole(body, chunks)
    assert all(length <= MODEL_READS - 2 for length in read_lengths(embedder, body, chunks))


@pytest.mark.parametrize("kind", LONG)
def test_long_runs_of_one_kind_fit(embedder: Embedder, kind: str) -> None:
    body = LONG[kind]
    chunks = cut(embedder, body)
    assert_whole(body, chunks)
    assert max(read_lengths(embedder, body, chunks)) <= MODEL_READS - 2


def test_a_blank_text_has_no_passages(embedder: Embedder) -> None:
    assert cut(embedder, " \n\n\t ") == []


def test_cuts_fall_between_sentences(embedder: Embedder) -> None:
    body = " ".join(f"Sentence {n} says that the bridge is still shut." for n in range(80))
    ends = {end for _, end in sentence_spans(body)}
    chunks = cut(embedder, body)
    assert len(chunks) > 3
    assert all(each.end in ends for each in chunks)


def test_cuts_fall_between_paragraphs_where_they_can(embedder: Embedder) -> None:
    paragraph = "The council met again on Tuesday and put the vote off until the spring. " * 4
    body = "\n\n".join([paragraph.strip()] * 10)
    chunks = cut(embedder, body)
    assert len(chunks) > 2
    assert all(body[each.end : each.end + 2] in ("\n\n", "") for each in chunks)


def test_a_long_sentence_is_cut_between_words(embedder: Embedder) -> None:
    body = "bridge " * 600
    for each in cut(embedder, body.strip()):
        assert set(body[each.start : each.end].split()) == {"bridge"}


def test_no_passage_lies_in_two_posts(embedder: Embedder) -> None:
    texts = [f"Post {n}: water is rising at the quay. " * (n % 4 + 1) for n in range(30)]
    body = "\n\n".join(text.strip() for text in texts)
    posts, at = [], 0
    for text in texts:
        posts.append(Post(Moment(""), at, at + len(text.strip())))
        at += len(text.strip()) + 2
    chunks = cut(embedder, body, posts=posts)
    assert_whole(body, chunks)
    for each in chunks:
        assert sum(post.start < each.end and each.start < post.end for post in posts) == 1


def test_a_long_headline_leaves_room_for_the_text(embedder: Embedder) -> None:
    body = LONG["English"]
    chunks = cut(embedder, body, headline="Bridge closed again after cracks " * 200)
    assert all(len(each.prefix) < 600 for each in chunks)
    assert max(read_lengths(embedder, body, chunks)) <= MODEL_READS - 2
    assert len(chunks) < 15


def test_the_cut_is_the_same_each_time(embedder: Embedder) -> None:
    assert cut(embedder, LONG["English"]) == cut(embedder, LONG["English"])


def test_a_vector_is_named_by_all_that_is_embedded() -> None:
    keys = {
        vector_key("m", "Headline", "Text."),
        vector_key("m2", "Headline", "Text."),
        vector_key("m", "Headline 2", "Text."),
        vector_key("m", "Headline", "Text!"),
        vector_key("m", "", "Headline\nText."),
    }
    assert len(keys) == 4
    assert vector_key("m", "a", "b") == vector_key("m", "a", "b")


@given(st.text())
def test_sentences_are_in_order_and_leave_only_blanks_out(text: str) -> None:
    end = 0
    for start, stop in sentence_spans(text):
        assert end <= start < stop
        assert not text[end:start].strip()
        end = stop
    assert not text[end:].strip()


def test_a_fact_at_the_end_of_a_long_story_is_found(bot: Storybot) -> None:
    filler = "The committee heard statements about the harbour wall and its upkeep. "
    texts = [" ".join((filler * 60).split()[:594]) + ". The sealed cost was 42 million."]
    texts += [f"{filler * 20} Speaker {n} asked for more time." for n in range(12)]
    stories = [
        {"id": f"c{n}", "headline": f"Harbour committee, day {n}", "text": text}
        for n, text in enumerate(texts)
    ]
    bot.ingest(lines(stories), source="committee.jsonl")
    bot.collection.embed_pending()
    for question in ("How many millions did it cost under seal?", "the sealed cost"):
        hits = bot.search(question, k=3).hits
        assert any("42 million" in hit.passage.text for hit in hits)
    index = bot.collection.index
    assert index is not None
    vector = bot.collection.embedder.encoded(["What was the sealed cost?"])[0].vector
    nearest = [key for key, _ in index.query(vector, 3)]
    last = [hit for hit in bot.search("sealed").hits if "42 million" in hit.passage.text]
    assert last[0].passage.vector_key in nearest


def test_the_letter_of_a_speaker_stays_with_what_is_said() -> None:
    body = "Q. Who won?\n\nA. Nobody did. It was called off.\n\nB."
    assert [body[a:b] for a, b in sentence_spans(body)] == [
        "Q. Who won?",
        "A. Nobody did.",
        "It was called off.",
        "B.",
    ]
