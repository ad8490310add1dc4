"""Words, stems, names, figures and quotations in plain text.

Pure functions that retrieval, answering, verifying and evaluating share.
"""

import re
import unicodedata
from functools import lru_cache

import simplemma
import snowballstemmer

_FOLD = {
    **dict.fromkeys(map(ord, "‘’‚‛′ʼ`´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), "-"),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u202f\u2009\u200a\u2002\u2003"), " "),
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), ""),
    ord("…"): "...",
}

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being
    but by can could did do does doing done for from further get had has have having he her here
    hers him his how i if in into is it its itself just let like me might more most much my no nor
    not now of off on once only or other our out over own please s same say says said she should
    so some such t tell than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with
    would you your happen happened many according long old
    el la los las un una unos unas de del al y o en por para con que qué quién cuándo dónde cómo
    cuánto cuántos cuánta cuántas cuál se su sus es fue son lo le les ha han""".split()
)

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BASES = {
    "won": "win", "left": "leave", "rose": "rise", "shot": "shoot", "felt": "feel",
    "thought": "think", "swore": "swear", "wives": "wife", "halves": "half", "shown": "show",
}  # fmt: skip
_stemmer = snowballstemmer.stemmer("porter")

_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred thousand million billion trillion dozen half quarter third"
).split()
_DIGITS = r"\d+(?:[.,]\d+)*"
NUMBER = re.compile(rf"{_DIGITS}|\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
MONEY = re.compile(
    rf"[€$£¥₹]\s?{_DIGITS}|\b{_DIGITS}(?:\s?(?:million|billion|thousand|trillion))?\s?"
    r"(?:euros?|dollars?|pounds?|yen|cents?|pence|crowns?|francs?|rupees?|pesos?)\b"
    rf"|\b(?:{'|'.join(_NUMBER_WORDS)})[\s-](?:million |billion |thousand )?"
    r"(?:euros?|dollars?|pounds?|cents?|pence|crowns?)\b",
    re.IGNORECASE,
)
PERCENT = re.compile(rf"{_DIGITS}\s?(?:%|per ?cent|percentage points?)", re.IGNORECASE)
DATE = re.compile(
    rf"\b(?:(?:{_MONTHS})\b\.?(?:\s\d{{1,2}})?|\d{{1,2}}(?:st|nd|rd|th)?\s(?:{_MONTHS})\b"
    rf"|(?:{_DAYS})\b|(?:1[0-9]|20)\d\d\b|today|tonight|yesterday|tomorrow|midnight|noon"
    rf"|\d{{1,2}}(?::\d\d)?\s?[ap]\.?m\b|\d{{1,2}}:\d\d\b|(?:last|next|this)\s(?:week|month|year)"
    r"|(?:morning|afternoon|evening|night))"
)
DURATION = re.compile(
    rf"(?:{_DIGITS}|\b(?:a|an|{'|'.join(_NUMBER_WORDS)})\b)[\s-](?:\w+[\s-])?"
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|decades?|metres?|meters?"
    r"|kilometres?|kilometers?|km|miles?|feet|inches|cm|m)\b",
    re.IGNORECASE,
)
QUOTE = re.compile(r"[\"“][^\"“”]{2,}[\"”]")
_CAPITALISED = r"[A-ZÀ-ÖØ-Þ](?:[\w’'&-]*\w|\.)?"
_NAME = re.compile(rf"{_CAPITALISED}(?:\s(?:(?:of|the|de|la|del|von|van|and|&)\s)?{_CAPITALISED})*")
PRONOUN_START = re.compile(
    r"^[\"“'‘(]*(?:he|she|they|it|this|that|these|those|his|her|their|its|him|them|both|another"
    r"|neither|such|there|here|so)\b",
    re.IGNORECASE,
)
PRONOUN_SPEAKER = re.compile(
    r"[\"”,]\s?(?:he|she|they|it)\s\w+|\b(?:he|she|they)\s(?:said|added|told|asked|replied"
    r"|responded|wrote|continued|warned)\b",
    re.IGNORECASE,
)


def fold(text: str) -> str:
    """Text for comparing: typography, accents' composition and case made one."""
    return unicodedata.normalize("NFC", text).translate(_FOLD).casefold()


def bare(text: str) -> str:
    """Folded words separated by single spaces, punctuation left out."""
    return " ".join(match.group() for match in _WORD.finditer(fold(text)))


def words(text: str) -> list[str]:
    """The words of a text in order, folded, possessive endings left out."""
    found = (match.group() for match in _WORD.finditer(fold(text)))
    return [word.removesuffix("'s") for word in found]


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """The folded words of a text with their offsets in it, possessive endings left out."""
    return [
        (fold(match.group()).removesuffix("'s"), match.start(), match.end())
        for match in _WORD.finditer(text)
    ]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """One form for a folded word's inflections, accents removed: won, wins, winning -> win."""
    base = _BASES.get(word) or str(simplemma.lemmatize(word, lang=("en", "es")))
    plain = unicodedata.normalize("NFD", base.casefold())
    return str(_stemmer.stemWord("".join(c for c in plain if not unicodedata.combining(c))))


def stems(text: str) -> list[str]:
    """Stems of a text's words in order, stop words included.

    A run of Chinese, Japanese or Korean characters gives its overlapping pairs.
    """
    found: list[str] = []
    for word in words(text):
        if _CJK.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            found.append(stem(word))
    return found


def content_stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, each once, in order."""
    kept = [word for word in words(text) if word not in STOP_WORDS]
    return list(dict.fromkeys(stems(" ".join(kept))))


def content_words(text: str) -> list[str]:
    """The words that carry meaning, each once, in order."""
    return list(dict.fromkeys(word for word in words(text) if word not in STOP_WORDS))


def names(text: str) -> list[str]:
    """Runs of capitalised words that look like proper names, each once, in order.

    A common word whose capital only begins a sentence does not count.
    """
    found: list[str] = []
    for match in _NAME.finditer(text):
        name = match.group().strip(" .")
        before = text[: match.start()].rstrip("\"“‘'( ")
        opens = not before or before[-1] in ".!?:\n"
        if opens:
            parts = name.split()
            while parts and _head(parts[0]) in STOP_WORDS | _OPENERS:
                parts = parts[1:]
            if len(parts) == 1 and _is_common(fold(parts[0])):
                parts = []
            name = " ".join(parts)
        if len(name) > 1 and _head(name) not in STOP_WORDS | _EXCLAIMED:
            found.append(name)
    return list(dict.fromkeys(found))


_OPENERS = frozenset(
    """name give list show explain describe compare was is are did does do has have had will can
    could should would the a an in on at by for from during after before since under which what
    who when where why how whose whom and but or also then summarise summarize""".split()
)


_EXCLAIMED = frozenset("god oh ok okay yeah yes hey wow sorry please mr mrs ms dr".split())


def _head(word: str) -> str:
    return fold(word).partition("'")[0]


@lru_cache(maxsize=50_000)
def _is_common(word: str) -> bool:
    return bool(simplemma.is_known(word.removesuffix("'s"), lang="en"))


def holds(text: str, wanted: str) -> bool:
    """Whether the words of ``wanted`` stand in ``text`` as a run, typography folded."""
    return f" {bare(wanted)} " in f" {bare(text)} "


def word_count(text: str) -> int:
    return len(text.split())
