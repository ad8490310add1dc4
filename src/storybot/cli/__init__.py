"""The storybot command.

Exit codes: 0 done (declining a question is done), 1 some stories or lines failed,
2 wrong usage, 3 the collection, the model or the server could not be used, 130 interrupted.
"""

from importlib.metadata import version
from pathlib import Path

import click

from storybot.cli.asking import ask, search
from storybot.cli.desk import Context, Group
from storybot.cli.ingesting import ingest
from storybot.cli.stories import delete, stories
from storybot.cli.upkeep import check, reembed, serve, show_settings

__all__ = ["main"]


@click.group(
    cls=Group,
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
    context.obj = Context(flags)


for _command in (ingest, ask, search, stories, delete, check, reembed, show_settings, serve):
    main.add_command(_command)
