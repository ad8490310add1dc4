"""`storybot stories` and `storybot delete`."""

from typing import Any

import click

from storybot.cli.desk import Context, filter_options, limits_of, open_desk


@click.group(
    invoke_without_command=True,
    epilog="Examples: storybot stories --outlet 'Averil Courier'; storybot stories show 4f0c2a",
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
@click.option("--offset", default=0, type=click.IntRange(0, 2**31))
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON object.")
@filter_options
@click.pass_context
def stories(
    click_context: click.Context, /, limit: int, offset: int, as_json: bool, **limits: Any
) -> None:
    """List the stories, newest first, or show one."""
    if click_context.invoked_subcommand is not None:
        return
    settings = click_context.obj.free_settings()
    from storybot.service import ListQuery

    with open_desk(settings) as desk:
        query = ListQuery(limit=limit, offset=offset, **limits_of(settings, **limits))
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
def show(context: Context, story_id: str, revision: int | None, as_json: bool) -> None:
    """Show one story: its facts, how many revisions it has, and its text."""
    settings = context.free_settings()
    from storybot.ingest.run import printable

    with open_desk(settings) as desk:
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


@click.command(epilog="Example: storybot delete 4f0c2a51b3de")
@click.argument("story_id")
@click.pass_obj
def delete(context: Context, story_id: str) -> None:
    """Remove a story with all its revisions."""
    settings = context.free_settings()
    from storybot.ingest.run import printable

    with open_desk(settings) as desk:
        desk.delete(printable(story_id))
    click.echo(f"Story {story_id} is deleted.")
