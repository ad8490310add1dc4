"""What every command needs: the collection to work with, limits, errors, a progress bar."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import click
from pydantic import ValidationError

from storybot.errors import (
    NotFoundError,
    QuestionError,
    SettingsError,
    StoreBusyError,
    StorybotError,
)
from storybot.settings import Settings, load_settings

if TYPE_CHECKING:
    from rich.progress import Progress

    from storybot.owner import Owner
    from storybot.service import AskQuery, ListQuery, SearchQuery
    from storybot.shapes import (
        AnswerShape,
        CheckShape,
        IngestShape,
        RevisionShape,
        SearchShape,
        StoriesShape,
    )

_INTERRUPTED = 130
F = TypeVar("F", bound=Callable[..., Any])


class Desk(Protocol):
    """A collection to work with: this process's own, or that of a running server."""

    def ask(self, query: "AskQuery") -> "AnswerShape": ...
    def search(self, query: "SearchQuery") -> "SearchShape": ...
    def stories(self, query: "ListQuery") -> "StoriesShape": ...
    def story(self, story_id: str, revision: int | None) -> "RevisionShape": ...
    def delete(self, story_id: str) -> None: ...
    def check(self, *, repair: bool) -> "CheckShape": ...
    def ingest(
        self, file: BinaryIO, source: str, progress: Callable[[int], None]
    ) -> "IngestShape": ...


@dataclass(frozen=True, slots=True)
class Context:
    flags: dict[str, object]

    def settings(self, **more: object) -> Settings:
        return load_settings(**self.flags, **more)

    def free_settings(self) -> Settings:
        """The settings, once nobody who takes no requests has the data directory.

        Comes before the slow imports, so that a command that must wait says so at once.
        """
        settings = self.settings()
        reachable(settings)
        return settings


class Group(click.Group):
    """Turns storybot's errors into one line and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().main(*args, **kwargs)
        except ValidationError as error:
            click.echo(f"storybot: {invalid(error)}", err=True)
            sys.exit(2)
        except StorybotError as error:
            click.echo(f"storybot: {error} {error.hint}".rstrip(), err=True)
            usage = isinstance(error, SettingsError | QuestionError | NotFoundError)
            sys.exit(2 if usage else 3)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("storybot: stopped.", err=True)
            sys.exit(_INTERRUPTED)


def invalid(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}."


def reachable(settings: Settings) -> "Owner | None":
    """The running owner of the data directory, if there is one. Raises StoreBusyError."""
    from storybot.owner import current_owner

    owner = current_owner(settings.data_dir)
    if owner is not None and owner.address is None:
        who = f"process {owner.pid}" if owner.pid else "another process"
        raise StoreBusyError(
            f"{settings.data_dir} is in use by {who}, which takes no requests.",
            hint="Wait for it to end, then run the command again.",
        )
    return owner


@contextmanager
def open_desk(settings: Settings) -> Iterator[Desk]:
    """The running owner of the data directory if there is one, else the directory itself."""
    owner = reachable(settings)
    if owner is not None:
        from storybot.client import Client

        with Client(owner) as client:
            yield client
        return
    from storybot.bot import Storybot
    from storybot.service import Service

    with Service(Storybot.open(settings, background=False)) as service:
        yield service


def moment_of(settings: Settings, value: str | None, option: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=settings.zone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{value!r} is no date; write 2026-03-08 or 2026-03-08T14:00+01:00.",
            param_hint=f"--{option}",
        ) from error


def filter_options(command: F) -> F:
    for option in (
        click.option("--now", help="The clock to answer by; default: the real one."),
        click.option("--until", help="Only stories published before this date or instant."),
        click.option("--since", help="Only stories published at or after this date or instant."),
        click.option("--section", multiple=True, help="Only this section; repeatable."),
        click.option("--outlet", multiple=True, help="Only this outlet; repeatable."),
    ):
        command = option(command)
    return command


def typed_text(typed: str) -> str:
    """What was typed, without the halves of characters that no encoding takes."""
    return typed.encode("utf-8", "replace").decode()


def limits_of(settings: Settings, **limits: Any) -> dict[str, Any]:
    return {
        "outlet": [typed_text(name) for name in limits["outlet"]],
        "section": [typed_text(name) for name in limits["section"]],
        **{name: moment_of(settings, limits[name], name) for name in ("since", "until", "now")},
    }


def progress(*, quiet: bool) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=quiet or not console.is_terminal,
    )
