"""Checks of each sentence against what it cites. What fails is not said."""

from collections.abc import Callable, Sequence

from storybot import text
from storybot.types import Citation, Sentence, Verdict

Bodies = Callable[[str, int], str]


def verify(sentence: Sentence, bodies: Bodies) -> tuple[Verdict, ...]:
    """Check a sentence's quotes, numbers and names against its citations."""
    if not sentence.citations:
        return (Verdict("citation", False, "the sentence cites nothing"),)
    cited = " ".join(citation.quote for citation in sentence.citations)
    return (
        _offsets(sentence.citations, bodies),
        _quote(sentence, cited),
        _numbers(sentence.text, cited),
        _names(sentence.text, cited),
    )


def holds(verdicts: Sequence[Verdict]) -> bool:
    """Whether every check supports the sentence."""
    return all(verdict.supported for verdict in verdicts)


def _offsets(citations: Sequence[Citation], bodies: Bodies) -> Verdict:
    for citation in citations:
        body = bodies(citation.story_id, citation.revision)
        if body[citation.start : citation.end] != citation.quote:
            return Verdict("offsets", False, f"citation {citation.number} is not in its story")
    return Verdict("offsets", True, "each citation stands in its story at its offsets")


def _quote(sentence: Sentence, cited: str) -> Verdict:
    quoted = [match.group() for match in text.QUOTE.finditer(sentence.text)]
    for quote in quoted:
        if text.bare(quote) not in text.bare(cited):
            return Verdict("quotes", False, f"{quote} does not stand in what is cited")
    return Verdict("quotes", True, f"{len(quoted)} quotations stand word for word")


def _numbers(sentence: str, cited: str) -> Verdict:
    there = {text.fold(match.group()) for match in text.NUMBER.finditer(cited)}
    for match in text.NUMBER.finditer(sentence):
        if text.fold(match.group()) not in there:
            return Verdict("numbers", False, f"{match.group()} does not stand in what is cited")
    return Verdict("numbers", True, "each number stands in what is cited")


def _names(sentence: str, cited: str) -> Verdict:
    there = f" {text.bare(cited)} "
    for name in text.names(sentence):
        if f" {text.bare(name)} " not in there:
            return Verdict("names", False, f"{name} does not stand in what is cited")
    return Verdict("names", True, "each name stands in what is cited")
