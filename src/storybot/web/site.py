"""The site: the chat page and whatever routes are given, behind one set of rules."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from storybot.web.middleware import SecurityMiddleware, SessionMiddleware
from storybot.web.protocols import PageBot

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
_STATIC = Path(__file__).with_name("static")
_FILES = {
    "/static/storybot.js": ("storybot.js", "text/javascript"),
    "/static/storybot.css": ("storybot.css", "text/css"),
    "/static/favicon.svg": ("favicon.svg", "image/svg+xml"),
    "/favicon.ico": ("favicon.svg", "image/svg+xml"),
}
_HEAD = """
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
<link rel="stylesheet" href="/static/storybot.css">
<script src="/static/storybot.js" defer></script>
"""


class SiteSettings(Protocol):
    """What the site needs of the settings."""

    @property
    def host(self) -> str: ...


def create_app(
    bot: PageBot,
    settings: SiteSettings,
    *,
    owner_token: str,
    routers: Sequence[APIRouter] = (),
    hosts: Sequence[str] = (),
) -> FastAPI:
    """The whole site as one ASGI application.

    ``routers`` are included before the page, which takes every other path;
    their routes find ``bot`` and ``owner_token`` on ``request.app.state``.
    The site answers to loopback names, ``settings.host`` and ``hosts``.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio

    from storybot.web.chat_page import build_page, page_theme

    app = FastAPI(title="Storybot", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.bot = bot
    app.state.owner_token = owner_token
    for router in routers:
        app.include_router(router)
    for path, (name, kind) in _FILES.items():
        _serve(app, path, _STATIC / name, kind)
    names = list(dict.fromkeys((*LOOPBACK, settings.host, *hosts)))
    app.add_middleware(SessionMiddleware, key=secrets.token_bytes(32))
    app.add_middleware(CORSMiddleware, allow_origins=[])
    app.add_middleware(SecurityMiddleware, hosts=tuple(hosts))
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=names, www_redirect=False)
    gradio.mount_gradio_app(
        app,
        build_page(bot),
        path="/",
        theme=page_theme(),
        head=_HEAD,
        show_error=False,
        max_file_size="5mb",
        allowed_paths=[],
        run_history=False,
        footer_links=[],
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        pwa=False,
    )
    return app


def _serve(app: FastAPI, path: str, file: Path, kind: str) -> None:
    @app.get(path, include_in_schema=False)
    def static_file() -> FileResponse:
        return FileResponse(file, media_type=kind, headers={"cache-control": "no-cache"})
