"""What every response of the site carries, and who a request belongs to."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "storybot_session"
_MONTH = 30 * 24 * 3600
_SCRIPT = re.compile(rb"<script(?=[\s>])")
_CARD = re.compile(rb"""\s*<meta\s+(?:property="og:|name="twitter:)[^>]*>""")
_CLOSED = tuple(
    f"/gradio_api/{name}"
    for name in (
        "api/",
        "call/",
        "component_server",
        "deep_link",
        "process_recording",
        "proxy=",
        "run/",
        "run-history",
        "runs",
        "stream/",
        "upload",
        "vibe",
    )
)
_CLOSED += ("/monitoring", "/proxy=")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_UNCOMPRESSED = ("/assets/", "/gradio_api/", "/static/")


def policy(nonce: str) -> str:
    """The content security policy of a page whose scripts carry ``nonce``."""
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self' data:",
            "object-src 'none'",
            "base-uri 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        )
    )


class SecurityMiddleware:
    """Sets the security headers, puts the nonce on scripts and refuses foreign writes.

    ``hosts`` are the names the site goes by; a request that changes something
    must come from a page of this very address or of one of them.
    """

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if not scope["path"].startswith(_UNCOMPRESSED):
            kept = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
            scope = {**scope, "headers": kept}
        nonce = secrets.token_urlsafe(16)
        page = _Page(send, nonce)
        await (refusal or self.app)(scope, receive, page.send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        if scope["path"].startswith(_CLOSED):
            return PlainTextResponse("Not found", status_code=404)
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if scope["method"] in _SAFE or origin is None:
            return None
        parts = urlsplit(origin)
        if parts.netloc == headers.get("host") or parts.hostname in self.hosts:
            return None
        return PlainTextResponse("This request came from another site.", status_code=403)


class _Page:
    """Sends a response on; an HTML one only when whole, with the nonce put in."""

    def __init__(self, send: Send, nonce: str) -> None:
        self._send = send
        self._nonce = nonce
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["content-security-policy"] = policy(self._nonce)
            headers["x-content-type-options"] = "nosniff"
            headers["referrer-policy"] = "no-referrer"
            headers["cross-origin-opener-policy"] = "same-origin"
            headers["permissions-policy"] = "camera=(), geolocation=(), microphone=()"
            if headers.get("content-type", "").startswith("text/html"):
                headers["cache-control"] = "no-store"
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body", False):
                return
            tag = b'<script nonce="' + self._nonce.encode() + b'"'
            body = _SCRIPT.sub(tag, _CARD.sub(b"", bytes(self._body)))
            headers = MutableHeaders(scope=self._start)
            if "content-length" in headers:
                headers["content-length"] = str(len(body))
            await self._send(self._start)
            message = {"type": "http.response.body", "body": body}
        await self._send(message)


class SessionMiddleware:
    """Gives each browser a signed cookie, on its visit to the page.

    Whatever else arrives without a cookie signed with ``key`` is handed on
    without any, so a handler that sees the cookie may trust it.
    """

    def __init__(self, app: ASGIApp, *, key: bytes) -> None:
        self.app = app
        self.key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        others, session = self._split(Headers(scope=scope).getlist("cookie"))
        fresh = None
        if session is None and scope["path"] == "/" and scope["method"] in ("GET", "HEAD"):
            name = secrets.token_urlsafe(24)
            session = fresh = f"{name}.{self._signature(name)}"
        pairs = others if session is None else [*others, f"{COOKIE}={session}"]
        headers = [pair for pair in scope["headers"] if pair[0] != b"cookie"]
        if pairs:
            headers.append((b"cookie", "; ".join(pairs).encode("latin-1")))

        async def with_cookie(message: Message) -> None:
            if fresh and message["type"] == "http.response.start":
                secure = "; Secure" if scope["scheme"] == "https" else ""
                MutableHeaders(scope=message).append(
                    "set-cookie",
                    f"{COOKIE}={fresh}; Path=/; Max-Age={_MONTH}; HttpOnly; SameSite=Lax{secure}",
                )
            await send(message)

        await self.app({**scope, "headers": headers}, receive, with_cookie)

    def _split(self, lines: list[str]) -> tuple[list[str], str | None]:
        others: list[str] = []
        session = None
        for pair in (part.strip() for line in lines for part in line.split(";")):
            name, _, value = pair.partition("=")
            if name != COOKIE:
                others.extend([pair] if pair else [])
            elif self._signed(value):
                session = value
        return others, session

    def _signed(self, value: str) -> bool:
        name, _, signature = value.partition(".")
        return hmac.compare_digest(signature.encode(), self._signature(name).encode())

    def _signature(self, name: str) -> str:
        return hmac.new(self.key, name.encode(), hashlib.sha256).hexdigest()
