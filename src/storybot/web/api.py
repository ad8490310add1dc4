"""The HTTP routes the commands use while a server owns the data directory.

Every route but health wants the owner's token, which only this machine's user can
read, from the 0600 file in the data directory.
"""

import hmac
import json
import queue
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import Annotated, BinaryIO, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse

from storybot.errors import NotFoundError, QuestionError, StoreError, StorybotError
from storybot.service import MAX_NUMBER, AskQuery, ListQuery, SearchQuery, Service
from storybot.shapes import (
    AnswerShape,
    CheckShape,
    RevisionShape,
    SearchShape,
    Shape,
    StoriesShape,
)

_IN_MEMORY = 16 * 2**20
MAX_UPLOAD = 2 * 2**30


class ForbiddenError(Exception):
    """The request did not carry the owner's token."""


class RepairOrder(Shape):
    repair: bool = False


def problem(status: int, detail: str, hint: str = "", kind: str = "") -> JSONResponse:
    """An error as problem details (RFC 9457), with storybot's hint beside it."""
    return JSONResponse(
        {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "hint": hint,
            "kind": kind,
        },
        status_code=status,
        media_type="application/problem+json",
    )


def add_problem_handlers(app: FastAPI) -> None:
    """Have the app answer storybot's errors and malformed requests as problem details."""

    @app.exception_handler(StorybotError)
    async def _storybot_error(_: Request, error: StorybotError) -> JSONResponse:
        status = 500
        if isinstance(error, NotFoundError):
            status = 404
        elif isinstance(error, QuestionError):
            status = 422
        elif isinstance(error, StoreError):
            status = 503
        return problem(status, str(error), error.hint, type(error).__name__)

    @app.exception_handler(ForbiddenError)
    async def _forbidden(_: Request, __: ForbiddenError) -> JSONResponse:
        return problem(401, "This route wants the owner's token.", "Use the storybot command.")

    @app.exception_handler(RequestValidationError)
    async def _malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return problem(422, f"{field}: {first['msg']}", "Mend that field.", "QuestionError")


def build_router(service: Service, token: str) -> APIRouter:
    """The routes under /api/v1."""

    def owner_only(request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise ForbiddenError

    open_router = APIRouter(prefix="/api/v1")
    router = APIRouter(dependencies=[Depends(owner_only)])

    @open_router.get("/health")
    def health() -> dict[str, str]:
        found = service.bot.health()
        return {"status": found.status, "text": found.text}

    @router.post("/ask")
    def ask(query: AskQuery) -> AnswerShape:
        return service.ask(query)

    @router.post("/search")
    def search(query: SearchQuery) -> SearchShape:
        return service.search(query)

    @router.get("/stories")
    def stories(query: Annotated[ListQuery, Query()]) -> StoriesShape:
        return service.stories(query)

    @router.get("/stories/{story_id}")
    def story(
        story_id: str, revision: Annotated[int, Query(ge=1, le=MAX_NUMBER)] | None = None
    ) -> RevisionShape:
        return service.story(story_id, revision)

    @router.delete("/stories/{story_id}", status_code=204)
    def delete(story_id: str) -> Response:
        service.delete(story_id)
        return Response(status_code=204)

    @router.post("/check")
    def check(order: RepairOrder) -> CheckShape:
        return service.check(repair=order.repair)

    @router.post("/stories")
    async def ingest(request: Request, source: str) -> Response:
        spool = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        size = 0
        async for block in request.stream():
            size += len(block)
            if size > MAX_UPLOAD:
                spool.close()
                return problem(413, "The file is over 2 GiB.", "Split it.", "InputError")
            await run_in_threadpool(spool.write, block)
        spool.seek(0)
        return StreamingResponse(
            _ingest_events(service, cast("BinaryIO", spool), source),
            media_type="application/x-ndjson",
        )

    open_router.include_router(router)
    return open_router


def _ingest_events(service: Service, file: BinaryIO, source: str) -> Iterator[bytes]:
    """Run an ingest on its own thread and report it line by line."""
    events: queue.Queue[dict[str, object] | None] = queue.Queue()

    def run(put: Callable[[dict[str, object]], None]) -> None:
        try:
            report = service.ingest(file, source, lambda read: put({"read": read}))
            put({"report": report.model_dump()})
        except StorybotError as error:
            put({"detail": str(error), "hint": error.hint})
        finally:
            file.close()
            events.put(None)

    threading.Thread(target=run, args=(events.put,), daemon=True).start()
    while (event := events.get()) is not None:
        yield json.dumps(event, ensure_ascii=False).encode() + b"\n"
