"""`storybot ask` and `storybot search`."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from storybot.cli.desk import (
    Context,
    Desk,
    filter_options,
    invalid,
    limits_of,
    moment_of,
    open_desk,
    typed_text,
)
from storybot.errors import QuestionError
from storybot.settings import Settings

if TYPE_CHECKING:
    from storybot.shapes import AnswerShape


@click.command(epilog='Example: storybot ask "Who won the election?" --since 2026-06-01')
@click.argument("question")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON.")
@filter_options
@click.pass_obj
def ask(context: Context, /, question: str, as_json: bool, **limits: Any) -> None:
    """Answer a question from the stories, or say that they do not answer it.

    With `--json -` questions are read from standard input, one JSON object a line
    (id, question, and follows: the id whose conversation it continues), and one
    answer object a line is printed in the same order.
    """
    settings = context.free_settings()
    base = limits_of(settings, **limits)
    from storybot.service import AskQuery

    if question == "-":
        if not as_json:
            raise click.UsageError("`storybot ask -` needs --json.")
        with open_desk(settings) as desk:
            failed = _ask_lines(desk, base, settings)
        sys.exit(1 if failed else 0)
    with open_desk(settings) as desk:
        answer = desk.ask(AskQuery(question=typed_text(question), **base))
    click.echo(answer.model_dump_json(by_alias=True) if as_json else _answer_text(answer))


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
            if typed_text(question) != question:
                raise QuestionError("the question holds half a character, a lone surrogate")
            follows = case.get("follows")
            if follows is not None and str(follows) not in chains:
                raise QuestionError(f"follows names {follows}, which was not answered before")
            history = chains[str(follows)] if follows is not None else []
            own = {"now": moment_of(settings, str(case["now"]), "now")} if case.get("now") else {}
            answer = desk.ask(AskQuery(question=question, history=history[-20:], **{**base, **own}))
        except (ValueError, RecursionError, QuestionError, click.BadParameter) as error:
            failed = True
            reason = invalid(error) if isinstance(error, ValidationError) else str(error)
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


@click.command(epilog="Example: storybot search 'bridge repair cost' -k 5 --outlet Ledger")
@click.argument("question")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 100), help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print the hits as one JSON object.")
@filter_options
@click.pass_obj
def search(context: Context, /, question: str, k: int, as_json: bool, **limits: Any) -> None:
    """List the passages that fit a question best."""
    settings = context.free_settings()
    from storybot.service import SearchQuery

    with open_desk(settings) as desk:
        found = desk.search(
            SearchQuery(question=typed_text(question), k=k, **limits_of(settings, **limits))
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
