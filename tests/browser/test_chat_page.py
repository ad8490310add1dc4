"""The chat page as a reader meets it."""

from collections.abc import Callable

import pytest
from gradio_client import Client
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
MARKED = "[...document.querySelectorAll('#story mark')].map(m => m.textContent).join('')"


def ask(page: Page, question: str) -> None:
    page.fill("#question textarea", question)
    page.press("#question textarea", "Enter")
    finished(page)


def ask_an_example(page: Page) -> None:
    page.locator("#examples button").first.click()
    finished(page)


def finished(page: Page) -> None:
    page.locator("#chat .answer").last.wait_for()
    expect(page.locator("#chat .stage")).to_have_count(0, timeout=30_000)
    page.locator("#send").wait_for()


def test_a_citation_opens_the_story_at_exactly_the_quoted_words(open_page: OpenPage) -> None:
    page = open_page()
    ask_an_example(page)
    quote = page.locator("#sources blockquote").first.text_content()
    page.locator("#chat .cite").first.click()
    page.locator("#story mark").first.wait_for()
    expect(page.locator("#story mark").first).to_be_focused()
    expect(page.locator("#story mark").first).to_be_in_viewport()
    assert page.evaluate(MARKED) == quote
    page.keyboard.press("Escape")
    expect(page.locator("#story")).to_have_count(0)
    expect(page.locator("#chat .cite").first).to_be_focused()


def test_the_keyboard_alone_is_enough(open_page: OpenPage) -> None:
    page = open_page(dark=True)
    page.locator("#examples button").first.focus()
    page.keyboard.press("Enter")
    finished(page)
    page.locator("#chat .cite").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#story mark").first).to_be_focused()


def test_an_empty_question_leaves_the_page_as_it_is(open_page: OpenPage) -> None:
    page = open_page()
    before = page.locator("#footing").text_content()
    for blank in ("", "   "):
        page.fill("#question textarea", blank)
        page.press("#question textarea", "Enter")
        page.wait_for_timeout(500)
    assert page.locator("#footing").text_content() == before
    expect(page.locator("#send")).to_have_text("Ask")
    expect(page.locator("#examples button").first).to_be_visible()
    ask(page, "Who won the mayoral election?")
    expect(page.locator("#chat .cite").first).to_be_visible()
    expect(page.locator("#send")).to_have_text("Ask")


def test_a_hostile_question_is_only_text(open_page: OpenPage) -> None:
    page = open_page()
    question = "<img src=x onerror=alert(1)> **b** [l](http://evil.example) $x$ &amp; `c` {{7*7}}"
    ask(page, question)
    assert page.locator("#chat .question").text_content() == question
    expect(page.locator("#desk img")).to_have_count(0)


def test_a_question_no_story_answers_is_declined(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "What is the capital of Peru?")
    expect(page.locator("#chat .declined")).to_be_visible()
    expect(page.locator("#chat .cite")).to_have_count(0)


def test_the_conversation_outlives_a_reload_until_a_new_chat(open_page: OpenPage) -> None:
    page = open_page()
    ask_an_example(page)
    page.reload()
    page.locator("#chat .cite").first.click()
    page.locator("#story mark").first.wait_for()
    page.locator("#new-chat").click()
    page.locator("#welcome .welcome").wait_for()
    page.reload()
    page.locator("#welcome .welcome").wait_for()
    expect(page.locator("#chat .question")).to_have_count(0)


def test_another_visitor_sees_nothing_of_it(open_page: OpenPage) -> None:
    ask_an_example(open_page())
    expect(open_page().locator("#chat .question")).to_have_count(0)


def test_it_fits_a_phone(open_page: OpenPage) -> None:
    page = open_page(360, 740)
    ask_an_example(page)
    page.locator("#chat .cite").first.click()
    expect(page.locator("#story mark").first).to_be_in_viewport()
    expect(page.locator("#close-story")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_program_can_ask(site: str) -> None:
    client = Client(site, verbose=False)
    answer = client.predict("What is the capital of Peru?", api_name="/ask")
    assert answer["status"] == "declined"
    assert answer["citations"] == []
