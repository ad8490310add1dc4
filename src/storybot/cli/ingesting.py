"""`storybot ingest`."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from storybot.cli.desk import Context, Desk, open_desk, progress

if TYPE_CHECKING:
    from rich.progress import Progress

    from storybot.shapes import IngestShape


@click.command(epilog="Example: storybot ingest my-stories/ 'archive/*.jsonl.gz'")
@click.argument("paths", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.pass_obj
def ingest(context: Context, paths: Sequence[str], as_json: bool) -> None:
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
        with open_desk(settings) as desk, progress(quiet=as_json) as bars:
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
