"""The chat page: a conversation, and beside it the stories it quotes."""

import logging
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr
from gradio.events import api

from storybot.errors import StorybotError
from storybot.types import Turn
from storybot.web import render, texts, view
from storybot.web.middleware import COOKIE
from storybot.web.protocols import PageBot
from storybot.web.sessions import Conversation, Conversations, Exchange, stopped_when_left

_EXAMPLES = 4
_LIMIT = 8
_WAITING = 20
_LONGEST = 2_000
Updates = dict[Any, Any]
_log = logging.getLogger(__name__)


def page_theme() -> gr.themes.Base:
    """Gradio's plain theme with the system's own typefaces; the rest is storybot.css."""
    sans = ("system-ui", "-apple-system", "Segoe UI", "sans-serif")
    return gr.themes.Base(
        primary_hue="slate",
        secondary_hue="slate",
        neutral_hue="stone",
        radius_size="sm",
        font=sans,
        font_mono=("ui-monospace", "monospace"),
    )


def build_page(bot: PageBot) -> gr.Blocks:
    """The page as Gradio blocks, its queue bounded. Mount it with ``site.create_app``."""
    blocks: gr.Blocks = gr.Blocks(title=texts.TITLE, analytics_enabled=False, fill_width=True)
    with blocks:
        _ChatPage(bot).lay_out(blocks)
    blocks.queue(
        api_open=False, max_size=_WAITING, default_concurrency_limit=_LIMIT, status_update_rate=5
    )
    return blocks


def _prose(value: str = "", **options: Any) -> gr.Markdown:
    return gr.Markdown(value, sanitize_html=True, latex_delimiters=[], **options)


class _ChatPage:
    """The components and what they do. One for the whole site; it holds no visitor's state
    but the conversations, each under its cookie."""

    def __init__(self, bot: PageBot) -> None:
        self._bot = bot
        self._conversations = Conversations()

    def lay_out(self, blocks: gr.Blocks) -> None:
        with gr.Row(elem_id="masthead"):
            _prose(f"<h1>{texts.TITLE}</h1><p>{texts.TAGLINE}</p>", elem_id="title")
            new_chat = gr.Button(texts.NEW_CHAT, elem_id="new-chat", size="sm", scale=0)
        with gr.Row(elem_id="desk", equal_height=False):
            with gr.Column(elem_id="talk", scale=3, min_width=300):
                self._welcome = _prose(elem_id="welcome")
                self._chat = self._chatbot()
                self._try = gr.Column(elem_id="examples", visible=False)
                with self._try:
                    _prose(f"<p>{texts.TRY}</p>")
                    self._examples = [gr.Button(visible=False) for _ in range(_EXAMPLES)]
                with gr.Row(elem_id="composer"):
                    self._box = gr.Textbox(
                        label=texts.ASK_LABEL,
                        placeholder=texts.ASK_PLACEHOLDER,
                        show_label=False,
                        container=False,
                        lines=1,
                        max_lines=6,
                        max_length=_LONGEST,
                        elem_id="question",
                        scale=1,
                    )
                    self._send = gr.Button(texts.SEND, variant="primary", elem_id="send", scale=0)
                    self._stop = gr.Button(texts.STOP, visible=False, elem_id="stop", scale=0)
                self._footing = _prose(elem_id="footing")
            with gr.Column(elem_id="beside", scale=2, min_width=300):
                self._bar = gr.Row(elem_id="story-bar", visible=False)
                with self._bar:
                    self._close = gr.Button(texts.CLOSE_STORY, elem_id="close-story", size="sm")
                self._story = _prose(elem_id="story", visible=False)
                self._sources = _prose(render.sources_markdown((), "none"), elem_id="sources")
        opened = gr.Textbox(label=texts.OPEN_LABEL, visible="hidden", elem_id="open-story")
        self._connect(blocks, new_chat, opened)

    def _chatbot(self) -> gr.Chatbot:
        return gr.Chatbot(
            label=texts.CHAT_LABEL,
            show_label=False,
            container=False,
            layout="panel",
            height=None,
            buttons=[],
            feedback_options=None,
            latex_delimiters=[],
            sanitize_html=True,
            allow_tags=False,
            allow_file_downloads=False,
            group_consecutive_messages=False,
            line_breaks=False,
            autoscroll=False,
            visible=False,
            elem_id="chat",
        )

    def _connect(self, blocks: gr.Blocks, new_chat: gr.Button, opened: gr.Textbox) -> None:
        shown = [self._welcome, self._chat, self._try, *self._examples, self._box, self._send]
        shown += [self._stop, self._footing, self._bar, self._story, self._sources]
        quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        blocks.load(self._load, None, shown, **quiet)
        asking = [
            gr.on([self._box.submit, self._send.click], self._ask, self._box, shown, **quiet),
            *(button.click(self._ask, button, shown, **quiet) for button in self._examples),
        ]
        self._stop.click(self._halt, None, shown, cancels=asking, **quiet)
        new_chat.click(self._clear, None, shown, cancels=asking, **quiet)
        panel = [self._bar, self._story, self._sources]
        opened.submit(self._open, opened, panel, trigger_mode="always_last", **quiet)
        self._close.click(self._shut, None, panel, **quiet)
        api(self._answer_json, api_name="ask")

    def _of(self, request: gr.Request) -> Conversation:
        return self._conversations.of(request.cookies.get(COOKIE))

    def _load(self, request: gr.Request) -> Updates:
        conversation = self._of(request)
        return {**self._whole(conversation), **self._starters()}

    def _starters(self) -> Updates:
        questions = view.examples(self._bot)[:_EXAMPLES]
        blank = [""] * (_EXAMPLES - len(questions))
        return {
            button: gr.update(value=question, visible=bool(question))
            for button, question in zip(self._examples, questions + blank, strict=True)
        }

    def _whole(self, conversation: Conversation, *, gone: frozenset[str] | None = None) -> Updates:
        exchanges = conversation.exchanges()
        gone = view.withdrawn(self._bot, exchanges) if gone is None else gone
        working = any(exchange.state == "working" for exchange in exchanges)
        return {
            self._welcome: gr.update(
                value="" if exchanges else view.welcome(self._bot), visible=not exchanges
            ),
            self._chat: gr.update(value=view.messages(exchanges, gone), visible=bool(exchanges)),
            self._try: gr.update(visible=not exchanges and bool(view.examples(self._bot))),
            self._send: gr.update(visible=not working),
            self._stop: gr.update(visible=working),
            self._footing: gr.update(value=view.footing(self._bot)),
            self._sources: gr.update(value=view.sources(exchanges, gone), visible=True),
            self._bar: gr.update(visible=False),
            self._story: gr.update(value="", visible=False),
        }

    def _ask(self, question: str, request: gr.Request) -> Iterator[Updates]:
        question = question.strip()
        if not question:
            # A generator that yields nothing would empty every part of the page.
            yield {self._box: gr.update(value="")}
            return
        conversation = self._of(request)
        history = conversation.history()
        exchange = conversation.begin(question[:_LONGEST])
        gone = view.withdrawn(self._bot, conversation.exchanges())
        with stopped_when_left(exchange):
            yield {**self._whole(conversation, gone=gone), self._box: gr.update(value="")}
            for _ in self._steps(exchange, history):
                yield self._progress(conversation, gone)
        yield self._whole(conversation, gone=gone)

    def _progress(self, conversation: Conversation, gone: frozenset[str]) -> Updates:
        exchanges = conversation.exchanges()
        return {
            self._chat: gr.update(value=view.messages(exchanges, gone)),
            self._sources: gr.update(value=view.sources(exchanges, gone)),
        }

    def _steps(self, exchange: Exchange, history: Sequence[Turn]) -> Iterator[None]:
        """Bring ``exchange`` up to date, event by event, until done, failed or stopped."""
        try:
            for event in self._bot.stream(exchange.question, history=history):
                if exchange.state != "working":
                    return
                exchange.take(event)
                yield
        except StorybotError as error:
            exchange.state, exchange.lines = "failed", (str(error), error.hint)
        except Exception:  # noqa: BLE001  a visitor gets a reference, never a trace
            exchange.state, exchange.lines = "failed", (_unexpected(),)

    def _halt(self, request: gr.Request) -> Updates:
        conversation = self._of(request)
        conversation.stop()
        return self._whole(conversation)

    def _clear(self, request: gr.Request) -> Updates:
        conversation = self._of(request)
        conversation.clear()
        return {**self._whole(conversation), **self._starters()}

    def _open(self, reference: str, request: gr.Request) -> Updates:
        try:
            shown = view.story(self._bot, self._of(request), reference)
        except StorybotError as error:
            shown = render.notice_markdown(str(error), error.hint)
        return {
            self._bar: gr.update(visible=True),
            self._story: gr.update(value=shown, visible=True),
            self._sources: gr.update(visible=False),
        }

    def _shut(self) -> Updates:
        return {
            self._bar: gr.update(visible=False),
            self._story: gr.update(value="", visible=False),
            self._sources: gr.update(visible=True),
        }

    def _answer_json(self, question: str, request: gr.Request) -> dict[str, Any]:
        """Answer a question with sentences quoted from stories.

        Earlier questions are remembered only for a caller that sends the page's cookie.
        """
        conversation = self._of(request)
        history = conversation.history()
        exchange = conversation.begin(question[:_LONGEST])
        with stopped_when_left(exchange):
            for _ in self._steps(exchange, history):
                pass
        if exchange.answer is None:
            return {"status": "error", "text": " ".join(exchange.lines), "citations": []}
        return view.as_json(exchange.answer)


def _unexpected() -> str:
    reference = secrets.token_hex(4)
    _log.exception("A question failed (reference %s)", reference)
    return texts.FAILED.format(reference=reference)
