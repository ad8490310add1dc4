"""What a question asks for: its weighted words, its names, the kind of answer it wants."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from storybot import text

Kind = Literal[
    "who", "when", "where", "money", "percent", "count", "age", "duration", "said", "why", "name",
    "listener",
]  # fmt: skip
FIGURES: frozenset[Kind] = frozenset({"age", "percent", "money", "duration", "count", "when"})
Frequencies = Callable[[Sequence[str]], tuple[int, Mapping[str, int]]]

_AUXILIARY = r"(?:did|was|were|is|are|will|does|do|has|have|had|can|could|should|would)"
_SPEECH = (
    r"(?:say|said|tell|told|ask|asked|reply|replied|respond|responded|call|describe|described"
    r"|answer|claim|claimed|argue|argued|warn|warned|promise|promised|react|reacted|reaction"
    r"|response|advice|advise|comment|explain|explained|think|put it)"
)
_PERSON = (
    r"(?:man|woman|person|player|actor|actress|singer|musician|councillor|politician|writer"
    r"|author|star)"
)
_NAMED = (
    r"(?:company|country|firm|team|club|party|film|show|band|song|book|brand|network|outlet"
    r"|school|state)"
)
_LISTENER = (
    r"(?:outlet|(?:news)?paper|magazine|broadcaster|station|channel|programme|podcast|website"
    r"|reporter|journalist|interviewer)"
)
_WORDINGS: Mapping[Kind, tuple[str, ...]] = {
    "listener": (
        rf"\b(?:which|what) (?:\w+ ){{0,2}}{_LISTENER}\b"
        r".*\b(?:interview|talk|speak|spoke|told|tell)",
        r"\bwho(?:m)? (?:interviewed|(?:was|were|is|are|did) .*\b(?:interviewed by"
        r"|(?:talk|speak|talking|speaking) (?:to|with)))\b",
    ),
    "age": (r"\bhow old\b", r"\bwhat age\b", r"\bqué edad\b", r"\bcu[aá]ntos años tiene\b"),
    "percent": (r"\b(?:what|which) (?:percentage|per ?cent|proportion|share)\b",),
    "money": (
        r"\bhow much (?:money|did|does|do|will|would|was|is|were|are|has|have|had|more|extra|of a)"
        r"\b(?!.*\b(?:rain|snow|water|time|longer|space)\b)",
        r"\bhow many (?:euros|dollars|pounds)\b",
        r"\b(?:what|which) (?:was|is|were|are|did|does|will)\b"
        r".*\b(?:cost|price|salary|fee|fine|bill|budget)\b",
        r"\bcu[aá]nto (?:cuesta|cost|dinero|vale|pag)",
    ),
    "duration": (
        r"\bhow (?:long|far|tall|high|deep|fast|big|large|wide|heavy|late|hot|cold)\b",
        r"\bhow much (?:time|longer|water|rain|snow|space)\b",
    ),
    "count": (
        r"\bhow (?:many|often|big)\b",
        r"\bwhat (?:number|score)\b",
        r"\b(?:final )?score\b",
        r"\bcu[aá]nt[oa]s\b",
    ),
    "when": (
        rf"(?:^|\band |, )when\b|\bwhen {_AUXILIARY}\b",
        r"\b(?:what|which) (?:day|date|year|month|week|time|weekday|season)\b",
        r"\bsince when\b|\bdate\b|\bcu[aá]ndo\b",
    ),
    "where": (
        rf"(?:^|\band |, )where\b|\bwhere {_AUXILIARY}\b",
        r"\b(?:what|which) (?:city|town|place|village|street|venue|location)\b|\bd[oó]nde\b",
    ),
    "said": (
        rf"\b(?:what|how) (?:did|does|do|has|had|was|were|is|are)\b.*\b{_SPEECH}\b",
        r"\b(?:quote|reply|response|words|answer)\b|\bqu[eé] dijo\b",
    ),
    "who": (
        r"(?:^|\band |\bby |\bto |\bwith |, )who(?:m|se)?\b|\bqui[eé]n(?:es)?\b",
        rf"\bwhich {_PERSON}\b",
    ),
    "why": (
        r"\bwhy\b|\bpor qu[eé]\b|\bhow come\b|\breasons?\b",
        r"\bwhat (?:caused|led to|is the reason)\b",
    ),
    "name": (
        r"\bwhich\b|\bcalled\b|\bnamed\b|\bc[oó]mo se llama\b",
        r"\bwhat(?:'s| is| was| are| were)? (?:the |its |his |her )?(?:name|title|called)\b",
        rf"\bwhat {_NAMED}\b",
    ),
}
_KINDS: Mapping[Kind, re.Pattern[str]] = {
    kind: re.compile("|".join(patterns), re.IGNORECASE) for kind, patterns in _WORDINGS.items()
}
_MORE = re.compile(
    r"\b(?:in detail|more detail|everything|full story|summar|explain|tell me (?:all|more)|list)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question ready to be read for.

    ``full`` is the standalone question, ``text`` what was typed. ``weights`` gives
    each stem's inverse document frequency, in natural logarithms, summing to 1;
    stems lent by the subject of a follow-up count half.
    """

    text: str
    full: str
    kinds: tuple[Kind, ...]
    weights: Mapping[str, float]
    names: tuple[str, ...]
    wants_more: bool

    def cover(self, passage: str) -> float:
        """The share of the question's weight whose words stand in a text: 0 to 1."""
        found = set(text.stems(passage))
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    def weighed_words(self) -> list[tuple[int, int, float]]:
        """Offsets into ``full`` of its words, each with its weight."""
        return [
            (start, end, 0.0 if word in text.STOP_WORDS else self.weights.get(text.stem(word), 0.0))
            for word, start, end in text.word_spans(self.full)
        ]


def analyse(question: str, frequencies: Frequencies, *, full: str = "", subject: str = "") -> Asked:
    """Weigh a question's words by how rare they are in the collection."""
    own = text.content_stems(question)
    lent = [stem for stem in text.content_stems(subject) if stem not in own]
    total, found = frequencies([*own, *lent])
    raw = {stem: math.log(1 + (total + 0.5) / (found.get(stem, 0) + 0.5)) for stem in [*own, *lent]}
    for stem in lent:
        raw[stem] *= 0.5
    whole = sum(raw.values()) or 1.0
    return Asked(
        text=question,
        full=full or question,
        kinds=kinds_of(question),
        weights={stem: weight / whole for stem, weight in raw.items()},
        names=tuple(text.names(question)),
        wants_more=bool(_MORE.search(question)),
    )


def kinds_of(question: str) -> tuple[Kind, ...]:
    """The kinds of answer a question's wording asks for, most telling first."""
    found = [kind for kind, pattern in _KINDS.items() if pattern.search(question)]
    figures = [kind for kind in found if kind in FIGURES]
    asked = [kind for kind in found if kind not in FIGURES and kind != "name"]
    kept = figures[:1] + asked or found[:1]
    if "listener" in kept:
        return ("listener",)
    if "said" in kept and len(kept) > 1 and not re.search(r"\band (?:when|where|why)\b", question):
        kept = [kind for kind in kept if kind != "said"] if figures else ["said"]
    return tuple(kept)


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
_SUBJECT = re.compile(rf"\b(?:did|does|do|has|had) (.{{2,60}}?) {_SPEECH}\b")
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
