"""`storybot check`, `reembed`, `settings` and `serve`."""

import json
import sys
from datetime import UTC, datetime

import click

from storybot.cli.desk import Context, open_desk, progress
from storybot.settings import Settings, origins, settings_file


@click.command(epilog="Example: storybot check --repair")
@click.option("--repair", is_flag=True, help="Mend what is found: rebuild indexes, add vectors.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.pass_obj
def check(context: Context, repair: bool, as_json: bool) -> None:
    """Compare the ledger with its keyword and vector indexes; exit 1 when faults remain."""
    with open_desk(context.settings()) as desk:
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


@click.command(epilog="Example: STORYBOT_EMBEDDING_MODEL=./my-model storybot reembed")
@click.pass_obj
def reembed(context: Context) -> None:
    """Embed every story anew with the model of the settings."""
    from storybot.collection import Collection

    settings = context.settings()
    collection = Collection.open(settings, background=False, reembed=True)
    try:
        with progress(quiet=False) as bars:
            total = collection.ledger.counts(now=datetime.now(UTC)).pending
            bar = bars.add_task("Embedding passages", total=total, note="")
            collection.embed_pending(lambda written: bars.advance(bar, written))
    finally:
        collection.close()
    click.echo(f"{total} passages are embedded with {settings.embedding_model}.")


@click.command("settings", epilog="Example: STORYBOT_TIMEZONE=Europe/Paris storybot settings")
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON object.")
@click.pass_obj
def show_settings(context: Context, as_json: bool) -> None:
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


@click.command(epilog="Example: storybot serve --port 8080")
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks one.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--workers", type=int, default=1, hidden=True, help="Always 1: one process owns the folder."
)
@click.pass_obj
def serve(
    context: Context, host: str | None, port: int | None, open_browser: bool, workers: int
) -> None:
    """Open the chat page, and take the other commands' requests while it runs."""
    if workers != 1:
        raise click.UsageError(
            "storybot serves from one process: the data directory has one owner. "
            "Leave --workers out; questions are answered side by side in threads."
        )
    from storybot.web.serving import serve as run

    run(context.settings(host=host, port=port), open_browser=open_browser)
