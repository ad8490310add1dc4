"""The storybot command.

Exit codes: 0 done (declining a question is done), 1 some stories or lines failed,
2 wrong usage, 3 the collection, the model or the server could not be used, 130 interrupted.

Over 250 lines because every command stands here, each a few lines over `Desk`.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
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
from storybot.settings import Settings, load_settings, origins, settings_file

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
class _Context:
    flags: dict[str, object]

    def settings(self, **more: object) -> Settings:
        return load_settings(**self.flags, **more)

    def free_settings(self) -> Settings:
        """The settings, once nobody who takes no requests has the data directory.

        Comes before the slow imports, so that a command that must wait says so at once.
        """
        settings = self.settings()
        _reachable(settings)
        return settings


class _Group(click.Group):
    """Turns storybot's errors into one line and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().main(*args, **kwargs)
        except ValidationError as error:
            click.echo(f"storybot: {_invalid(error)}", err=True)
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


def _invalid(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}."


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Example: storybot ingest corpus/ && storybot ask "Who won the mayoral election?"',
)
@click.version_option(version("storybot"), prog_name="storybot")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of the collection.")
@click.option("--embedding-model", help="A sentence-transformers model: name or path.")
@click.option("--llm", help="A chat model as provider:model.")
@click.pass_context
def main(
    context: click.Context, data_dir: Path | None, embedding_model: str | None, llm: str | None
) -> None:
    """Ask questions about news stories; every sentence of an answer stands in a story."""
    flags: dict[str, object] = {
        "data_dir": data_dir,
        "embedding_model": embedding_model,
        "llm": llm,
    }
    context.obj = _Context(flags)


def _reachable(settings: Settings) -> "Owner | None":
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
def _desk(settings: Settings) -> Iterator[Desk]:
    """The running owner of the data directory if there is one, else the directory itself."""
    owner = _reachable(settings)
    if owner is not None:
        from storybot.client import Client

        with Client(owner) as client:
            yield client
        return
    from storybot.bot import Storybot
    from storybot.service import Service

    with Service(Storybot.open(settings, background=False)) as service:
        yield service


def _when(settings: Settings, value: str | None, option: str) -> datetime | None:
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


def _filter_options(command: F) -> F:
    for option in (
        click.option("--now", help="The clock to answer by; default: the real one."),
        click.option("--until", help="Only stories published before this date or instant."),
        click.option("--since", help="Only stories published at or after this date or instant."),
        click.option("--section", multiple=True, help="Only this section; repeatable."),
        click.option("--outlet", multiple=True, help="Only this outlet; repeatable."),
    ):
        command = option(command)
    return command


@main.command(epilog="Example: storybot ingest my-stories/ 'archive/*.jsonl.gz'")
@click.argument("paths", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.pass_obj
def ingest(context: _Context, paths: Sequence[str], as_json: bool) -> None:
    """Add stories from files, folders or globs: .txt, .md, .json, .jsonl, .gz of these.

    A story that is already there is left alone; a changed one becomes a new revision.
    """
    settings = context.free_settings()
    from storybot.ingest.run import Tally, find_inputs, printable, source_name
    from storybot.shapes import ingest_shape
    from storybot.types import Failure

    files, missing = find_inputs(paths)
    tally = Tally(failed=list(missing))
    if files:
        with _desk(settings) as desk, _progress(quiet=as_json) as bars:
            bar = bars.add_task("Reading stories", total=sum(map(_size, files)), note="")
            done = 0
            for path in files:
                size = _size(path)
                try:
                    with path.open("rb") as file:
                        report = desk.ingest(
                            file,
                            source_name(path),
                            lambda read, file=file, done=done: bars.update(  # type: ignore[misc]
                                bar, completed=done + _tell(file), note=f"{read} in this file"
                            ),
                        )
                except OSError as error:
                    reason = f"cannot be read: {error.strerror or error}"
                    tally.failed.append(Failure(printable(str(path)), None, reason, "Check it."))
                else:
                    _add(tally, report)
                done += size
                bars.update(bar, completed=done, note=printable(path.name))
            _embed(desk, bars)
    report = ingest_shape(tally.report())
    if as_json:
        click.echo(report.model_dump_json(exclude={"warnings"}))
    else:
        _print_ingest(report)
    if report.failed:
        sys.exit(1)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _tell(file: BinaryIO) -> int:
    """How far a file is read; 0 when it has no such place, as a pipe has none."""
    with suppress(OSError, ValueError):
        return file.tell()
    return 0


def _add(tally: Any, report: "IngestShape") -> None:
    from storybot.types import Failure, IngestReport

    tally.add(
        IngestReport(
            report.added,
            report.updated,
            report.unchanged,
            tuple(Failure(**failure.model_dump()) for failure in report.failed),
            tuple(Failure(**warning.model_dump()) for warning in report.warnings),
        )
    )


def _embed(desk: Desk, bars: "Progress") -> None:
    """Write the vectors now when this process owns them; a server writes its own."""
    from storybot.service import Service

    if not isinstance(desk, Service):
        return
    pending = desk.bot.counts().pending
    if pending:
        bar = bars.add_task("Embedding passages", total=pending, note="")
        desk.bot.collection.embed_pending(lambda written: bars.advance(bar, written))
        desk.bot.refresh_examples()
    else:
        desk.bot.collection.sweep()


def _progress(*, quiet: bool) -> "Progress":
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


def _print_ingest(report: "IngestShape") -> None:
    for warning in report.warnings:
        click.echo(f"note: {_place(warning.source, warning.line)}: {warning.reason}", err=True)
    for failure in report.failed:
        click.echo(
            f"failed: {_place(failure.source, failure.line)}: {failure.reason}. {failure.hint}",
            err=True,
        )
    click.echo(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{len(report.failed)} failed"
    )


def _place(source: str, line: int | None) -> str:
    return source if line is None else f"{source}:{line}"


@main.command(epilog='Example: storybot ask "Who won the election?" --since 2026-06-01')
@click.argument("question")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON.")
@_filter_options
@click.pass_obj
def ask(context: _Context, /, question: str, as_json: bool, **limits: Any) -> None:
    """Answer a question from the stories, or say that they do not answer it.

    With `--json -` questions are read from standard input, one JSON object a line
    (id, question, and follows: the id whose conversation it continues), and one
    answer object a line is printed in the same order.
    """
    settings = context.free_settings()
    base = _limits(settings, **limits)
    from storybot.service import AskQuery

    if question == "-":
        if not as_json:
            raise click.UsageError("`storybot ask -` needs --json.")
        with _desk(settings) as desk:
            failed = _ask_lines(desk, base, settings)
        sys.exit(1 if failed else 0)
    with _desk(settings) as desk:
        answer = desk.ask(AskQuery(question=_text(question), **base))
    click.echo(answer.model_dump_json(by_alias=True) if as_json else _answer_text(answer))


def _text(typed: str) -> str:
    """What was typed, without the halves of characters that no encoding takes."""
    return typed.encode("utf-8", "replace").decode()


def _limits(settings: Settings, **limits: Any) -> dict[str, Any]:
    return {
        "outlet": [_text(name) for name in limits["outlet"]],
        "section": [_text(name) for name in limits["section"]],
        **{name: _when(settings, limits[name], name) for name in ("since", "until", "now")},
    }


def _ask_lines(desk: Desk, base: dict[str, Any], settings: Settings) -> bool:
    """Answer JSON lines from standard input; returns whether any line failed."""
    from storybot.service import AskQuery
    from storybot.shapes import AnswerShape

    chains: dict[str, list[AnswerShape]] = {}
    failed = False
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        name: object = None
        try:
            case = json.loads(line.decode("utf-8-sig"))
            if not isinstance(case, dict):
                raise QuestionError("the line is not a JSON object")
            name = case.get("id")
            question = case.get("question")
            if not isinstance(question, str):
                raise QuestionError("the line has no question")
            if _text(question) != question:
                raise QuestionError("the question holds half a character, a lone surrogate")
            follows = case.get("follows")
            if follows is not None and str(follows) not in chains:
                raise QuestionError(f"follows names {follows}, which was not answered before")
            history = chains[str(follows)] if follows is not None else []
            own = {"now": _when(settings, str(case["now"]), "now")} if case.get("now") else {}
            answer = desk.ask(AskQuery(question=question, history=history[-20:], **{**base, **own}))
        except (ValueError, RecursionError, QuestionError, click.BadParameter) as error:
            failed = True
            reason = _invalid(error) if isinstance(error, ValidationError) else str(error)
            click.echo(
                json.dumps({"id": name, "error": f"line {number}: {reason}"}, ensure_ascii=False)
            )
        else:
            if name is not None:
                chains[str(name)] = [*history, answer]
            printed = answer.model_dump(by_alias=True)
            if name is not None:
                printed["id"] = name
            click.echo(json.dumps(printed, ensure_ascii=False))
        sys.stdout.flush()
    return failed


def _answer_text(answer: "AnswerShape") -> str:
    parts: list[str] = []
    if answer.standalone_question != answer.question:
        parts.append(f"({answer.standalone_question})")
    if answer.sentences:
        parts.append(
            " ".join(
                f"{sentence.lead}{sentence.text} "
                + "".join(f"[{citation.number}]" for citation in sentence.citations)
                for sentence in answer.sentences
            )
        )
        sources = []
        for sentence in answer.sentences:
            for citation in sentence.citations:
                facts = ", ".join(
                    fact for fact in (citation.outlet, (citation.published or "")[:10]) if fact
                )
                where = f"{citation.headline} ({facts})" if facts else citation.headline
                sources.append(
                    f"[{citation.number}] {where}\n    story {citation.story_id}, "
                    f"revision {citation.revision}, characters {citation.start}-{citation.end}"
                )
        parts.append("\n".join(sources))
    parts += [notice.text for notice in answer.notices]
    return "\n\n".join(parts)


@main.command(epilog="Example: storybot search 'bridge repair cost' -k 5 --outlet Ledger")
@click.argument("question")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 100), help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print the hits as one JSON object.")
@_filter_options
@click.pass_obj
def search(context: _Context, /, question: str, k: int, as_json: bool, **limits: Any) -> None:
    """List the passages that fit a question best."""
    settings = context.free_settings()
    from storybot.service import SearchQuery

    with _desk(settings) as desk:
        found = desk.search(
            SearchQuery(question=_text(question), k=k, **_limits(settings, **limits))
        )
    if as_json:
        click.echo(found.model_dump_json(by_alias=True))
        return
    if not found.hits:
        click.echo("No passage was found.")
    for hit in found.hits:
        story = hit.story
        facts = ", ".join(fact for fact in (story.outlet, (story.published or "")[:10]) if fact)
        click.echo(f"{hit.rank}. {story.headline}" + (f" ({facts})" if facts else ""))
        click.echo(f"   {' '.join(hit.passage.text.split())[:240]}\n")


@main.group(
    invoke_without_command=True,
    epilog="Examples: storybot stories --outlet 'Averil Courier'; storybot stories show 4f0c2a",
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
@click.option("--offset", default=0, type=click.IntRange(0, 2**31))
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON object.")
@_filter_options
@click.pass_context
def stories(
    click_context: click.Context, /, limit: int, offset: int, as_json: bool, **limits: Any
) -> None:
    """List the stories, newest first, or show one."""
    if click_context.invoked_subcommand is not None:
        return
    settings = click_context.obj.free_settings()
    from storybot.service import ListQuery

    with _desk(settings) as desk:
        query = ListQuery(limit=limit, offset=offset, **_limits(settings, **limits))
        listed = desk.stories(query)
    if as_json:
        click.echo(listed.model_dump_json(by_alias=True))
        return
    if not listed.stories:
        limited = offset or any(limits.values())
        click.echo(
            "No story fits. Outlets and sections are named whole, as `storybot stories` shows them."
            if limited
            else "No stories. Add some with `storybot ingest PATH`."
        )
    for story in listed.stories:
        facts = [story.id, (story.published or "undated")[:10], story.outlet, story.headline]
        click.echo("  ".join(fact for fact in facts if fact))
    if len(listed.stories) == limit:
        click.echo(f"There may be more: --offset {offset + limit} shows the next.", err=True)


@stories.command("show", epilog="Example: storybot stories show 4f0c2a51b3de --revision 1 --json")
@click.argument("story_id")
@click.option("--revision", type=click.IntRange(1, 2**31), help="Default: the current one.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
@click.pass_obj
def show(context: _Context, story_id: str, revision: int | None, as_json: bool) -> None:
    """Show one story: its facts, how many revisions it has, and its text."""
    settings = context.free_settings()
    from storybot.ingest.run import printable

    with _desk(settings) as desk:
        story = desk.story(printable(story_id), revision)
    if as_json:
        click.echo(story.model_dump_json(by_alias=True))
        return
    click.echo(story.headline)
    for fact in (
        ", ".join(story.authors),
        " · ".join(each for each in (story.outlet, story.section, story.published) if each),
        f"Updated {story.modified}" if story.modified else "",
        story.url,
        f"Correction: {story.correction}" if story.correction else "",
        f"Revision {story.revision} of {story.revisions}",
    ):
        if fact:
            click.echo(fact)
    click.echo(f"\n{story.body}")


@main.command(epilog="Example: storybot delete 4f0c2a51b3de")
@click.argument("story_id")
@click.pass_obj
def delete(context: _Context, story_id: str) -> None:
    """Remove a story with all its revisions."""
    settings = context.free_settings()
    from storybot.ingest.run import printable

    with _desk(settings) as desk:
        desk.delete(printable(story_id))
    click.echo(f"Story {story_id} is deleted.")


@main.command(epilog="Example: storybot check --repair")
@click.option("--repair", is_flag=True, help="Mend what is found: rebuild indexes, add vectors.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.pass_obj
def check(context: _Context, repair: bool, as_json: bool) -> None:
    """Compare the ledger with its keyword and vector indexes; exit 1 when faults remain."""
    with _desk(context.settings()) as desk:
        found = desk.check(repair=repair)
    if as_json:
        click.echo(found.model_dump_json())
    else:
        click.echo(f"{found.stories} stories, {found.passages} passages")
        for fault in found.faults:
            click.echo(f"{'repaired' if found.repaired else 'fault'}: {fault}")
        if not found.faults:
            click.echo("Every passage is found by its words and by its vector.")
        elif not found.repaired:
            click.echo("`storybot check --repair` mends this.")
    if found.faults and not found.repaired:
        sys.exit(1)


@main.command(epilog="Example: STORYBOT_EMBEDDING_MODEL=./my-model storybot reembed")
@click.pass_obj
def reembed(context: _Context) -> None:
    """Embed every story anew with the model of the settings."""
    from storybot.collection import Collection

    settings = context.settings()
    collection = Collection.open(settings, background=False, reembed=True)
    try:
        with _progress(quiet=False) as bars:
            total = collection.ledger.counts(now=datetime.now(UTC)).pending
            bar = bars.add_task("Embedding passages", total=total, note="")
            collection.embed_pending(lambda written: bars.advance(bar, written))
    finally:
        collection.close()
    click.echo(f"{total} passages are embedded with {settings.embedding_model}.")


@main.command("settings", epilog="Example: STORYBOT_TIMEZONE=Europe/Paris storybot settings")
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON object.")
@click.pass_obj
def show_settings(context: _Context, as_json: bool) -> None:
    """Print each setting, its value and where it comes from."""
    settings = context.settings()
    where = origins(**context.flags)
    if as_json:
        values = json.loads(settings.model_dump_json())
        click.echo(json.dumps({n: {"value": values[n], "origin": where[n]} for n in values}))
        return
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        click.echo(f"STORYBOT_{name.upper()} = {'none' if value is None else value}")
        click.echo(f"    {field.description} ({where[name]})")
    click.echo(f"Settings file: {settings_file() or 'none'}")


@main.command(epilog="Example: storybot serve --port 8080")
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks one.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--workers", type=int, default=1, hidden=True, help="Always 1: one process owns the folder."
)
@click.pass_obj
def serve(
    context: _Context, host: str | None, port: int | None, open_browser: bool, workers: int
) -> None:
    """Open the chat page, and take the other commands' requests while it runs."""
    if workers != 1:
        raise click.UsageError(
            "storybot serves from one process: the data directory has one owner. "
            "Leave --workers out; questions are answered side by side in threads."
        )
    from storybot.web.serving import serve as run

    run(context.settings(host=host, port=port), open_browser=open_browser)
