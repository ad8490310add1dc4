"""Asking a running storybot: the commands' way to the process that owns the data directory."""

import json
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, BinaryIO
from urllib.parse import quote

import httpx

from storybot.errors import NotFoundError, QuestionError, ServerError, StorybotError
from storybot.owner import Owner
from storybot.service import AskQuery, ListQuery, SearchQuery
from storybot.shapes import (
    AnswerShape,
    CheckShape,
    IngestShape,
    RevisionShape,
    SearchShape,
    Shape,
    StoriesShape,
)

_BLOCK = 1 << 16
_ERRORS: Mapping[str, type[StorybotError]] = {
    "QuestionError": QuestionError,
    "NotFoundError": NotFoundError,
}


class Client:
    """A connection to the owner, by its address and token. Raises what the owner raised."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._http = httpx.Client(
            base_url=f"{owner.address}/api/v1",
            headers={"Authorization": f"Bearer {owner.token}"},
            timeout=httpx.Timeout(10.0, read=None),
            trust_env=False,
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def ask(self, query: AskQuery) -> AnswerShape:
        return AnswerShape.model_validate(self._call("POST", "/ask", json=_body(query)))

    def search(self, query: SearchQuery) -> SearchShape:
        return SearchShape.model_validate(self._call("POST", "/search", json=_body(query)))

    def stories(self, query: ListQuery) -> StoriesShape:
        given = {name: value for name, value in _body(query).items() if value is not None}
        return StoriesShape.model_validate(self._call("GET", "/stories", params=given))

    def story(self, story_id: str, revision: int | None) -> RevisionShape:
        params = {} if revision is None else {"revision": revision}
        return RevisionShape.model_validate(self._call("GET", _path(story_id), params=params))

    def delete(self, story_id: str) -> None:
        self._call("DELETE", _path(story_id))

    def check(self, *, repair: bool) -> CheckShape:
        return CheckShape.model_validate(self._call("POST", "/check", json={"repair": repair}))

    def ingest(self, file: BinaryIO, source: str, progress: Callable[[int], None]) -> IngestShape:
        """Send a file's bytes; ``progress`` is told how many stories were read so far."""
        with (
            self._trouble(),
            self._http.stream(
                "POST", "/stories", params={"source": source}, content=_blocks(file)
            ) as response,
        ):
            self._raise_for(response)
            for line in response.iter_lines():
                event = json.loads(line)
                if "read" in event:
                    progress(int(event["read"]))
                elif "report" in event:
                    return IngestShape.model_validate(event["report"])
                else:
                    raise ServerError(str(event.get("detail")), hint=str(event.get("hint", "")))
        raise ServerError("The running storybot broke off.", hint="Run the command again.")

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        with self._trouble():
            response = self._http.request(method, path, **arguments)
            self._raise_for(response)
            return response.json() if response.content else None

    def _trouble(self) -> "_Trouble":
        return _Trouble(self.owner)

    @staticmethod
    def _raise_for(response: httpx.Response) -> None:
        if response.is_success:
            return
        response.read()
        try:
            problem = response.json()
        except ValueError:
            problem = {}
        detail = str(problem.get("detail") or f"The server answered {response.status_code}.")
        kind = _ERRORS.get(str(problem.get("kind")), ServerError)
        raise kind(detail, hint=str(problem.get("hint") or "See the server's own messages."))


class _Trouble:
    """Turns transport errors into a ServerError that names the owner."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, httpx.HTTPError):
            raise ServerError(
                f"The storybot that holds the data directory (process {self._owner.pid}) "
                f"does not answer at {self._owner.address}.",
                hint="Wait or stop it, then run the command again.",
            ) from error


def _path(story_id: str) -> str:
    if not story_id.isalnum():
        raise NotFoundError(f"There is no story {story_id}.", hint="`storybot stories` lists them.")
    return f"/stories/{quote(story_id)}"


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """A file's bytes without its size, which a pipe does not have and a log outgrows."""
    while block := file.read(_BLOCK):
        yield block


def _body(query: Shape) -> dict[str, object]:
    return query.model_dump(mode="json", by_alias=True)
