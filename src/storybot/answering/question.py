"""What a question asks for: its weighted words, its names, the kind of answer it wants."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
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
SPEECH = (
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
        rf"\b(?:what|how) (?:did|does|do|has|had|was|were|is|are)\b.*\b{SPEECH}\b",
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
