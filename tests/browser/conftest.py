"""A real Chromium for the pages.

Tests take ``site``: the base URL, as in ``http://127.0.0.1:7861``, of a running
site made by ``storybot.web.site.create_app`` over the sample newsroom in
``corpus/``, with at least one example question that is answered. It must name
a loopback host, and be fit to be asked by several visitors one after another.
``STORYBOT_CHROMIUM`` names the browser when it is not the system's or Playwright's.
"""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    named = os.environ.get("STORYBOT_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=named, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, site: str) -> Iterator[OpenPage]:
    """Opens the site as a new visitor; afterwards the page must have had no problem.

    A problem is a console error, a script error, a dialog, an answer of 400 or
    above, or a request to anywhere but the site.
    """
    problems: list[str] = []
    contexts = []

    def open_one(width: int = 1280, height: int = 860, *, dark: bool = False) -> Page:
        scheme = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        _watch(page, site, problems)
        page.goto(site)
        page.locator("#question textarea").wait_for()
        page.locator("#welcome .welcome").wait_for()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert problems == []


def _watch(page: Page, site: str, problems: list[str]) -> None:
    own = (site, "data:", "blob:")
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    page.on("response", lambda r: problems.append(f"{r.status} {r.url}") if not r.ok else None)
    page.on("request", lambda r: None if r.url.startswith(own) else problems.append(r.url))
