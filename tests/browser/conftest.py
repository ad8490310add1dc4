"""A real Chromium for the pages.

Tests take ``site``: the base URL, as in ``http://127.0.0.1:7861``, of a running
site made by ``storybot.web.site.create_app`` over the sample newsroom in
``corpus/``, with at least one example question that is answered. It must name
a loopback host, and be fit to be asked by several visitors one after another.
``STORYBOT_CHROMIUM`` names the browser when it is not the system's or Playwright's.
Without any these tests are skipped, or fail when ``REQUIRE_BROWSER`` is set.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from helpers import PATIENCE

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
        if named is None and not Path(playwright.chromium.executable_path).exists():
            missing = "no Chromium: install the package chromium, or set STORYBOT_CHROMIUM"
            (pytest.fail if os.environ.get("REQUIRE_BROWSER") else pytest.skip)(missing)
        started = playwright.chromium.launch(executable_path=named, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def ready_site(browser: Browser, site: str) -> str:
    """The site once it shows example questions, which it makes after it has started."""
    end = time.monotonic() + PATIENCE
    page = browser.new_page()
    page.goto(site)
    page.locator("#welcome .welcome").wait_for()
    while not page.locator("#examples button").first.is_visible():
        assert time.monotonic() < end, "no example questions were made"
        page.wait_for_timeout(500)
        page.reload()
        page.locator("#welcome .welcome").wait_for()
    page.close()
    return site


@pytest.fixture
def open_page(browser: Browser, ready_site: str) -> Iterator[OpenPage]:
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
        _watch(page, ready_site, problems)
        page.goto(ready_site)
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
