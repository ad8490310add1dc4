"""How far a sentence holds the kind of thing that a question asks for."""

import re
from collections.abc import Collection, Mapping

from storybot import text
from storybot.answering.question import SPEECH, Asked, Kind


def offers(asked: Asked, sentence: str, headline: str = "") -> float:
    """How far a sentence holds what is asked for and the question does not say: 0 to 1.

    0.5 where the question asks for nothing that can be told by its form. A headline's
    name that shares a word with the question's counts as said: who is asked about
    Hilaria Baldwin is not answered by Alec Baldwin being named.
    """
    if not asked.kinds:
        return 0.5
    mentioned = {part for name in asked.names for part in text.words(name)}
    kin = [name for name in text.names(headline) if mentioned & set(text.words(name))]
    folded = " ".join([text.fold(asked.text), *(text.bare(name) for name in kin)])
    return sum(_offers(kind, sentence, folded, mentioned) for kind in asked.kinds) / len(
        asked.kinds
    )


def _offers(kind: Kind, sentence: str, asked: str, mentioned: Collection[str]) -> float:
    if kind in ("who", "name", "where"):
        new = [name for name in text.names(sentence) if not _said_already(name, asked)]
        if kind == "where" and any(_placed(name, sentence) for name in new):
            return 1.0
        if kind == "name" and new:
            return 1.0
        if kind == "who" and any(" " in name for name in new):
            return 1.0
        return 0.5 if new or (kind == "name" and text.QUOTE.search(sentence)) else 0.0
    if kind == "listener":
        new = [name for name in text.names(sentence) if not _said_already(name, asked)]
        return 1.0 if any(_spoken_to(name, sentence) for name in new) else 0.0
    if kind == "said":
        if _another_speaks(sentence, asked, mentioned):
            return 0.0
        quoted = any(text.word_count(m.group()) > 3 for m in text.QUOTE.finditer(sentence))
        return 1.0 if quoted else 0.5 if _REPORTED.search(sentence) else 0.0
    if kind == "why":
        return 1.0 if _CAUSE.search(sentence) else 0.3
    figures = [m for m in _PATTERNS[kind].finditer(sentence) if text.fold(m.group()) not in asked]
    if figures:
        return 1.0
    if kind in ("money", "duration", "percent"):
        loose = [m for m in text.NUMBER.finditer(sentence) if text.fold(m.group()) not in asked]
        return 0.3 if loose else 0.0
    return 0.0


def _placed(name: str, sentence: str) -> bool:
    before = r"\b(?:in|at|near|outside|inside|across|along|off|from)\s(?:the\s)?"
    return bool(re.search(before + re.escape(name), sentence))


def _another_speaks(sentence: str, asked: str, mentioned: Collection[str]) -> bool:
    """Whether a sentence quotes somebody else than the person whose words are asked for.

    ``asked`` is the folded question, ``mentioned`` the words of its names. A speaker
    asked for by role, "the mayor", may be anybody.
    """
    subject = _SUBJECT.search(asked)
    outside = text.QUOTE.sub(", ", sentence)
    if subject is None or outside == sentence:
        return False
    speakers = [
        name
        for name in text.names(outside)
        if re.search(
            rf"{re.escape(name)},? (?:\w+ly )?(?:{_SAYING})\b|\b(?:{_SAYING}) {re.escape(name)}\b",
            outside,
        )
    ]
    named = set(text.words(subject.group(1))) & set(mentioned)
    return bool(speakers and named) and not any(named & set(text.words(s)) for s in speakers)


def _spoken_to(name: str, sentence: str) -> bool:
    speaks = r"(?:talk|speak|spoke|interview)\w*(?: \w+){0,3}? (?:to|with|by|on|for)"
    before = rf"\b(?:{speaks}|told) (?:the )?"
    return bool(re.search(before + re.escape(name), sentence, re.IGNORECASE))


def _said_already(name: str, asked: str) -> bool:
    return all(part in asked for part in text.fold(name).split())


_SAYING = (
    r"said|says|told|asked|replied|responded|warned|argued|claimed|added|wrote|joked|quipped"
    r"|snapped|insisted|announced|explained|answered"
)
_SUBJECT = re.compile(rf"\b(?:did|does|do|has|had) (.{{2,60}}?) {SPEECH}\b")
_REPORTED = re.compile(
    r"\b(?:said|told|asked|replied|responded|warned|argued|claimed|promised|added|wrote|called)\b"
)
_CAUSE = re.compile(
    r"\b(?:because|since|after|due to|owing to|so that|in order to|citing|blam\w+|as a result"
    r"|reason|caused?|following|amid|over|to avoid|porque)\b",
    re.IGNORECASE,
)
_PATTERNS: Mapping[Kind, re.Pattern[str]] = {
    "when": text.DATE,
    "money": text.MONEY,
    "percent": text.PERCENT,
    "count": text.NUMBER,
    "age": re.compile(
        r"(?:, |\()\d{1,2}(?=[,.;)]|$| and\b)|\baged? (?:of )?\d|\byears? old|\byear-old"
        r"|\bin (?:his|her|their) (?:early |mid-?|late )?\w+ies\b|\b\w+th birthday\b",
        re.IGNORECASE,
    ),
    "duration": text.DURATION,
}
