"""What the page shows of a conversation, computed from the server's copy of it."""

import re
from collections.abc import Iterable, Sequence

from storybot.errors import NotFoundError, StorybotError
from storybot.types import Answer
from storybot.web import render, texts
from storybot.web.cited import citations, nearest
from storybot.web.protocols import PageBot
from storybot.web.sessions import Conversation, Exchange

_REFERENCE = re.compile(r"(src|near)-([0-9a-f]{1,16})-([0-9]{1,4})")
Messages = list[dict[str, str]]


def withdrawn(bot: PageBot, exchanges: Iterable[Exchange]) -> frozenset[str]:
    """Ids of the stories behind ``exchanges`` that may not be shown any more."""
    seen: set[str] = set()
    for exchange in exchanges:
        seen.update(c.story_id for s in exchange.sentences for c in s.citations)
        if exchange.answer is not None:
            seen.update(card.id for card in nearest(exchange.answer))
    return frozenset(story_id for story_id in seen if not _showable(bot, story_id))


def _showable(bot: PageBot, story_id: str) -> bool:
    try:
        bot.story(story_id, None)
    except StorybotError:
        return False
    return True


def messages(exchanges: Iterable[Exchange], gone: frozenset[str]) -> Messages:
    """The conversation as the chat component takes it."""
    out: Messages = []
    for exchange in exchanges:
        out.append({"role": "user", "content": render.question_markdown(exchange.question)})
        out.append({"role": "assistant", "content": _reply(exchange, gone)})
    return out


def _reply(exchange: Exchange, gone: frozenset[str]) -> str:
    if exchange.state == "failed":
        return render.notice_markdown(*exchange.lines, kind="answer failed")
    working = exchange.state == "working"
    return render.answer_markdown(
        exchange.answer or exchange.sentences,
        turn_id=exchange.id,
        stage=texts.STAGES.get(exchange.stage, texts.WORKING) if working else "",
        note=texts.STOPPED if exchange.state == "stopped" else "",
        withdrawn=gone,
    )


def sources(exchanges: Sequence[Exchange], gone: frozenset[str]) -> str:
    """The sources of the newest exchange."""
    if not exchanges:
        return render.sources_markdown((), "none")
    newest = exchanges[-1]
    return render.sources_markdown(newest.sentences, newest.id, withdrawn=gone)


def examples(bot: PageBot) -> list[str]:
    """Questions to begin with; none when there is nothing to ask about."""
    try:
        return bot.examples() if bot.counts().stories else []
    except StorybotError:
        return []


def welcome(bot: PageBot) -> str:
    """The first screen, which says how to add stories when there are none."""
    try:
        stories = bot.counts().stories
    except StorybotError as error:
        return render.notice_markdown(str(error), error.hint, kind="welcome failed")
    if stories:
        return render.notice_markdown(texts.WELCOME, kind="welcome")
    return (
        f'<div class="welcome"><p>{render.escape(texts.EMPTY)}</p>'
        f'<p class="hint">{render.escape(texts.EMPTY_HINT)}</p>'
        f"<p><code>{render.escape(texts.EMPTY_COMMAND)}</code></p></div>"
    )


def footing(bot: PageBot) -> str:
    """The line under the question box: how to use an answer, and what is still to come."""
    try:
        counts = bot.counts()
    except StorybotError:
        return ""
    pending = texts.count(texts.PENDING, counts.pending) if counts.pending else ""
    total = texts.count(texts.STORY_COUNT, counts.stories)
    first = f"{total}. {texts.CAUTION}" if counts.stories else ""
    return render.notice_markdown(first, pending, kind="footing")


def story(bot: PageBot, conversation: Conversation, reference: str) -> str:
    """The story behind a citation or a nearest headline of this conversation.

    ``reference`` is an anchor that ``render`` wrote, as in ``src-4f0a-1``.
    """
    found = _REFERENCE.fullmatch(reference)
    exchange = conversation.find(found[2]) if found else None
    if found is None or exchange is None:
        return _unavailable(texts.LOST, reference if found else "")
    number = int(found[3])
    try:
        if found[1] == "src":
            return _cited(bot, exchange, number)
        return _near(bot, exchange, number)
    except NotFoundError:
        return _unavailable(texts.GONE, reference)


def _unavailable(text: str, reference: str) -> str:
    anchor = f' id="story-{reference}"' if reference else ""
    return f'<section class="story"{anchor} tabindex="-1">{render.notice_markdown(text)}</section>'


def _cited(bot: PageBot, exchange: Exchange, number: int) -> str:
    group = citations(exchange.sentences).get(number)
    if not group:
        raise NotFoundError(texts.LOST)
    first = group[0]
    card, revision = bot.story(first.story_id, first.revision)
    spans = [(c.start, c.end) for c in group if c.story_id == first.story_id]
    anchor = f"story-src-{exchange.id}-{number}"
    return render.story_markdown(revision, card, highlight=spans, anchor=anchor)


def _near(bot: PageBot, exchange: Exchange, place: int) -> str:
    cards = nearest(exchange.answer) if exchange.answer else ()
    if not 1 <= place <= len(cards):
        raise NotFoundError(texts.LOST)
    card, revision = bot.story(cards[place - 1].id, None)
    return render.story_markdown(revision, card, anchor=f"story-near-{exchange.id}-{place}")


def as_json(answer: Answer) -> dict[str, object]:
    """An answer for a program: status, text, sentences, citations, notices."""
    return {
        "status": answer.status,
        "text": answer.text,
        "as_of": answer.as_of.isoformat() if answer.as_of else None,
        "retrieval": answer.retrieval,
        "sentences": [
            {"lead": s.lead, "text": s.text, "citations": [c.number for c in s.citations]}
            for s in answer.sentences
        ],
        "citations": [
            {
                "number": c.number,
                "story_id": c.story_id,
                "revision": c.revision,
                "start": c.start,
                "end": c.end,
                "quote": c.quote,
                "headline": c.headline,
                "outlet": c.outlet,
                "url": c.url,
                "published": c.published.raw,
            }
            for group in citations(answer.sentences).values()
            for c in group
        ],
        "notices": [{"code": notice.code, "text": notice.text} for notice in answer.notices],
    }
