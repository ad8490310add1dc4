"""Running the site: the process that owns a data directory and answers for it."""

import logging
import signal
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import click
import uvicorn
from fastapi import FastAPI

from storybot.bot import Storybot
from storybot.errors import SettingsError, StorybotError
from storybot.service import Service
from storybot.settings import Settings
from storybot.web.api import add_problem_handlers, build_router
from storybot.web.site import create_app

_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104
_BACKLOG = 128


def build_site(bot: Storybot) -> FastAPI:
    """The site over an open bot: the chat page and the commands' routes."""
    token = bot.collection.ownership.token
    app = create_app(
        bot, bot.settings, owner_token=token, routers=[build_router(Service(bot), token)]
    )
    add_problem_handlers(app)
    return app


def listen(settings: Settings) -> socket.socket:
    """A socket on the settings' host and port. Raises SettingsError when it cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((settings.host, settings.port))
        taken.listen(_BACKLOG)
    except OSError as error:
        taken.close()
        raise SettingsError(
            f"Port {settings.port} on {settings.host} cannot be used: {error.strerror}.",
            hint="Another program may have it; choose another with PORT= or --port.",
        ) from error
    return taken


def address_of(bound: socket.socket) -> str:
    """The address a browser on this machine opens."""
    host, port = bound.getsockname()[:2]
    shown = "127.0.0.1" if host in _ANY_ADDRESS else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def serve(settings: Settings, *, open_browser: bool = False) -> None:
    """Serve the site until interrupted. Raises SettingsError or a StoreError before it begins."""
    bound = listen(settings)
    address = address_of(bound)
    with bound, Storybot.open(settings) as bot:
        app = build_site(bot)
        app.router.lifespan_context = _announced(app, bot, address, open_browser=open_browser)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=5,
                proxy_headers=False,
            )
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[bound])


def _announced(
    app: FastAPI, bot: Storybot, address: str, *, open_browser: bool
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The app's lifespan, within which the owner's file says where requests are taken."""
    mounted = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        bot.collection.ownership.announce(address)
        threading.Thread(target=_warm_up, args=(bot,), daemon=True).start()
        counts = bot.counts()
        click.echo(f"storybot: {counts.stories} stories. Chat at {address} (Ctrl+C stops it)")
        if open_browser:
            webbrowser.open(address)
        async with mounted(app):
            yield
        bot.collection.ownership.announce(None)

    return lifespan


def _warm_up(bot: Storybot) -> None:
    try:
        bot.collection.embedder.warm_up()
        if bot.counts().stories and not bot.examples():
            bot.refresh_examples()
    except StorybotError as error:
        click.echo(f"storybot: {error} {error.hint}", err=True)
