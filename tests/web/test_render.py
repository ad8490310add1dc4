"""What is displayed is the text, and nothing in the text is markup."""

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from storybot.types import (
    Answer,
    Citation,
    Filters,
    Hit,
    Moment,
    Notice,
    Passage,
    Provenance,
    Revision,
    Sentence,
    StoryCard,
)
from storybot.web import render, texts

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</p></div></section><h1>x",
    "<details open ontoggle=alert(1)><summary>s</summary></details>",
    "<!-- x --> <![CDATA[x]]> <?php x ?>",
    "&lt;b&gt; &amp;amp; &#60; &nbsp;",
    "**bold** _em_ ~~gone~~ `code` ***",
    "[a](javascript:alert(1)) ![i](http://evil.example/i.png) [r][r]\n\n[r]: http://evil.example",
    "https://evil.example www.evil.example me@evil.example <http://evil.example>",
    "# heading\n## heading\nsetext\n===\n---",
    "- item\n* item\n+ item\n1. item\n2) item",
    "    indented code\n\ttab",
    "```\nfence\n```\n~~~\nfence\n~~~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "> quoted\n>> deeper",
    "$x$ $$y$$ \\(z\\) \\[w\\] \\begin{a}",
    "%%%LATEX_BLOCK_0%%%",
    "a\\\nb  \nc \\* \\\\",
    '" onmouseover="alert(1)" \' x=\'',
    "{{7*7}} {% x %} ${x}",
    "  two  spaces  and ends  ",
    "👩‍👩‍👧 e\u0301 \u202eright to left\u202c \ufeff \u2028 \x85 \x80",
]


class Page(HTMLParser):
    """The tags, the text and the marked text of a fragment."""

    def __init__(self, fragment: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.marked = ""
        self._mark = False
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._mark = self._mark or tag == "mark"
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._mark = self._mark and tag != "mark"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._mark:
            self.marked += data


def body_of(fragment: str) -> Page:
    start = fragment.index('<div class="body">')
    return Page(fragment[start : fragment.rindex("</div>")])


def revision(body: str = "Body.", **changed: object) -> Revision:
    base = Revision(
        story_id="s1",
        number=1,
        headline="Dock talks fail",
        body=body,
        authors=("Della Frome",),
        dateline="AVERIL",
        genre="news",
        agency="",
        language="en",
        published=moment(),
        modified=Moment(""),
        correction="",
        partial=False,
        posts=(),
        content_hash="",
        embargoed_until=None,
        ingested=datetime(2026, 3, 4, tzinfo=UTC),
    )
    return replace(base, **changed)  # type: ignore[arg-type]


def card(**changed: object) -> StoryCard:
    base = StoryCard("s1", 1, "Dock talks fail", "Ledger", "business", "", moment())
    return replace(base, **changed)  # type: ignore[arg-type]


def moment() -> Moment:
    return Moment("x", datetime(2026, 3, 3, 23, 30, tzinfo=UTC), offset=60, flag="ok")


def sentence(text: str, number: int = 1, *, lead: str = "", story: str = "s1") -> Sentence:
    citation = Citation(
        number, story, 1, "p", 0, len(text), text, "Dock talks fail", "Ledger", "", moment()
    )
    return Sentence(text, (citation,), lead=lead)


def answer(*sentences: Sentence, status: str = "answered", **changed: object) -> Answer:
    base = Answer(
        id="a",
        question="q",
        standalone_question="q",
        status=status,  # type: ignore[arg-type]
        retrieval="full",
        as_of=moment().instant if sentences else None,
        sentences=sentences,
        notices=(),
        filters=Filters(),
        hits=(),
        provenance=Provenance("0", "s", "m"),
        timings_ms={},
    )
    return replace(base, **changed)  # type: ignore[arg-type]


def displayed(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_displayed_as_it_is(text: str) -> None:
    page = Page(render.escape(text))
    assert page.text == text
    assert page.tags == []


@pytest.mark.parametrize("text", HOSTILE)
def test_no_markdown_is_left_in_it(text: str) -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    page = Page(reader.render(f"<b>x</b>{render.escape(text)}"))
    assert page.tags == ["p", "b"]
    assert page.text.removesuffix("\n") == f"x{text}"


@given(st.text())
def test_any_text_comes_through(text: str) -> None:
    assert Page(render.escape(text)).text == displayed(text)


@given(st.text())
def test_any_text_is_safe_in_an_attribute(text: str) -> None:
    page = Page(f'<a href="{render.escape(text)}">x</a>')
    assert page.tags == ["a"]
    assert page.links == [displayed(text)]


def test_a_lone_surrogate_becomes_one_replacement_character() -> None:
    assert render.escape("a\ud800b") == "a\ufffdb"


BODIES = st.text(alphabet="ab \n\t<&*_$é👩\u200d\u0301", max_size=60)


@given(BODIES, st.data())
def test_the_marked_run_is_exactly_the_quote(body: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, len(body)))
    page = body_of(render.story_markdown(revision(body), card(), highlight=[(start, end)]))
    assert page.text == body
    assert page.marked == body[start:end]


@pytest.mark.parametrize(
    ("body", "quote"),
    [
        ("One.\n\nTwo.\n\nThree.", "ne.\n\nTwo.\n\nTh"),
        ("Café au lait 👩‍👩‍👧 then.", "👩‍👩‍👧 then"),
        ("A\u0301B e\u0301 end", "e\u0301"),
        ("<b>x</b> & y", "b>x</b> &"),
        ("  Leading and  double", "  Leading and  d"),
    ],
)
def test_a_highlight_keeps_code_point_offsets(body: str, quote: str) -> None:
    start = body.index(quote)
    shown = render.story_markdown(
        revision(body), card(), highlight=[(start, start + len(quote))], anchor="story-x"
    )
    page = body_of(shown)
    assert page.text == body
    assert page.marked == quote
    assert page.ids == ["story-x-mark"]


def test_a_highlight_across_a_paragraph_break_leaves_paragraphs_whole() -> None:
    page = body_of(render.story_markdown(revision("One.\n\nTwo."), card(), highlight=[(1, 8)]))
    assert page.tags == ["div", "p", "mark", "span", "mark", "p", "mark"]


def test_several_highlights_are_all_marked() -> None:
    page = body_of(
        render.story_markdown(revision("One two three."), card(), highlight=[(8, 13), (0, 3)])
    )
    assert page.marked == "Onethree"
    assert page.ids == ["story-mark"]


def test_a_story_shows_what_is_known_of_it() -> None:
    shown = render.story_markdown(
        revision(correction="It was 3.1.", number=2),
        card(url="https://ledger.example/a?b=1&c=2", revisions=2),
    )
    page = Page(shown)
    assert page.links == ["https://ledger.example/a?b=1&c=2"]
    for part in ("Della Frome", "AVERIL", "4 March 2026, 00:30 UTC+01:00", "It was 3.1."):
        assert part in page.text
    assert "Revision 2 of 2" in page.text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "https://",
        "https://ledger.example@evil.example/",
        "https://a.example/\nx",
        "https://[bad",
        "ftp://a.example/",
        "",
    ],
)
def test_only_plain_web_addresses_become_links(url: str) -> None:
    assert Page(render.story_markdown(revision(), card(url=url))).links == []


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_fields_add_no_markup_anywhere(text: str) -> None:
    tame, wild = (
        [
            *_everything(value),
            render.question_markdown(value),
        ]
        for value in ("x", text)
    )
    for ours, theirs in zip(tame, wild, strict=True):
        assert set(Page(theirs).tags) <= set(Page(ours).tags) | {"span"}
        assert "\n" not in theirs


def _everything(text: str) -> list[str]:
    citation = replace(sentence(text).citations[0], headline=text, outlet=text, url=text)
    said = Sentence(text, (citation,), lead=text)
    told = card(headline=text, outlet=text, section=text, url=text)
    passage = Passage("p", "s1", 1, 0, 1, "x", "k")
    declined = answer(
        status="declined", notices=(Notice("c", text),), hits=(Hit(passage, told, 1.0),)
    )
    flat = text.replace("\n\n", " ")
    return [
        render.answer_markdown(answer(said, notices=(Notice("c", text),)), turn_id="t1"),
        render.answer_markdown(declined, turn_id="t1"),
        render.sources_markdown(answer(said), "t1"),
        render.story_markdown(
            revision(flat, headline=text, authors=(text,), dateline=text, correction=text),
            told,
            highlight=[(0, 1)],
        ),
    ]


def test_an_answer_sets_the_lead_apart_and_links_each_sentence() -> None:
    shown = render.answer_markdown(
        answer(sentence("He left.", 1, lead="On 4 March the Ledger wrote:"), sentence("She.", 2)),
        turn_id="t1",
    )
    page = Page(shown)
    assert page.links == ["#src-t1-1", "#src-t1-2"]
    assert '<p class="lead">On 4 March the Ledger wrote&#58;</p>' in shown
    assert "As of 4 March 2026 · 1 story · 1 outlet" in page.text


def test_a_declined_answer_says_so_and_names_the_nearest_headlines() -> None:
    passage = Passage("p", "s1", 1, 0, 1, "x", "k")
    hits = tuple(Hit(passage, card(id=f"s{n}", headline=f"H{n}"), 1.0) for n in (1, 1, 2, 3, 4))
    page = Page(render.answer_markdown(answer(status="declined", hits=hits), turn_id="t1"))
    assert texts.DECLINED in page.text
    assert page.links == ["#near-t1-1", "#near-t1-2", "#near-t1-3"]


def test_a_withdrawn_story_is_neither_quoted_nor_listed() -> None:
    made = answer(sentence("Secret.", 1, story="gone"), sentence("Open.", 2))
    page = Page(render.answer_markdown(made, turn_id="t1", withdrawn={"gone"}))
    assert "Secret" not in page.text
    assert texts.WITHDRAWN in page.text
    assert "Open." in page.text
    assert "Secret" not in render.sources_markdown(made, "t1", withdrawn={"gone"})


def test_sources_carry_the_quote_of_each_number() -> None:
    page = Page(render.sources_markdown([sentence("One.", 1), sentence("Two.", 2)], "t1"))
    assert page.ids == ["src-t1-1", "src-t1-2"]
    assert "One." in page.text
    assert "Two." in page.text


def test_commands_in_advice_are_set_apart_and_still_escaped() -> None:
    assert render.notice_markdown("Run `storybot <x>`") == (
        '<div class="notice"><p>Run&#32;<code>storybot &#60;x&#62;</code></p></div>'
    )
