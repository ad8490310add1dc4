"""Guessing the encoding of bytes that are not Unicode, and doubting the guess.

chardet ranks the encodings in use; a reading is believed only when its
letters stand as letters do in written language, and when no other believable
reading that gives a different text comes close.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from storybot.errors import InputError

_USUAL = [
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "iso-8859-2",
    "koi8-r",
    "koi8-u",
    "ibm866",
    "cp932",
    "euc-jp",
    "gb18030",
    "big5",
    "cp949",
    "tis-620",
]
_LATIN = frozenset(
    [
        "cp1252",
        "cp1250",
        "cp1254",
        "cp1257",
        "cp1258",
        "iso8859-2",
        "iso8859-15",
        "mac-roman",
        "cp850",
        "cp437",
        "cp852",
    ]
)
_RARE = ("iso-8859-15", "windows-1252", "macroman", "cp850", "cp437", "cp852")
_PAIR = {"cp1250", "iso8859-2"}
_SAMPLE_BYTES = 200_000
_LEAST, _LEAST_RARE = {True: 0.01, False: 0.1}, {True: 0.05, False: 0.1}
_MARGIN, _CLOSE_PAIR, _CLEARLY_BETTER = 1.05, 1.01, 1.5
_HINT = "Save the file as UTF-8 and try again."

NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd\ufffe\uffff]")
_LETTER = r"[^\W\d_¹²³¼½¾]"
_HIGH = r"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]"
_ODD = re.compile(
    # a symbol inside a word
    rf"{_LETTER}[¡¢£¤¥¦§¨©«¬®¯°±²³¶¸¹»¼½¾¿×÷˙˝˛‚„…†‡ˆ‰‹›•˜™“‘€√≈∞≤≥◊∂∑∏∫Ω]{_LETTER}"
    # a symbol that only opens or closes on its wrong side
    rf"|{_LETTER}[¿¡]|{_LETTER}[£€¢¤¥]\s|[“‘„‚](?=\s|$)|(?<=\s)[¹²³](?={_LETTER})"
    # letters against digits, doubled symbols, drawn boxes
    rf"|{_HIGH}[0-9]|[0-9]{_HIGH}|[¤¦¨¬¯´¸](?:[¤¦¨¬¯´¸]|{_LETTER})|[ŔŕĹĺ]\b|[\u2500-\u259f]"
)
_AFTER_LOWER = re.compile(r"[a-z]{2}([^\x00-\x7f])")
_LONG_HIGH = re.compile(r"[\u00c0-\u024f]{5}")
_WORD = re.compile(rf"{_LETTER}+")
_CJK = re.compile(r"[\u1100-\u11ff\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True, slots=True)
class _Reading:
    codec: str
    sample: str
    confidence: float


def guess(data: bytes, *, declared: str = "") -> tuple[str, str]:
    """Return the codec name and the text of legacy bytes.

    ``declared`` is a codec that is taken when it is believable and no other is
    clearly better. Raises InputError when no reading, or more than one, is believable.
    """
    _refuse_damaged_utf8(data)
    sample = _sample(data)
    if declared:
        claim = read_as(data, declared)
        usual = _readings(sample, _USUAL)
        known = [reading.confidence for reading in usual if reading.codec == declared]
        if claim is not None and not (known and usual[0].confidence > known[0] * _CLEARLY_BETTER):
            return declared, claim
    for candidates in (_USUAL, _RARE):
        for reading in _without_doubt(_readings(sample, candidates)):
            text = _strictly(data, reading.codec)
            if text is not None and not NOT_TEXT.search(text):
                return reading.codec, text
    raise _undecided("no usual encoding gives readable words")


def read_as(data: bytes, codec: str) -> str | None:
    """Decode strictly; None when that fails or the text is not believable."""
    text = _strictly(data, codec)
    if text is None or NOT_TEXT.search(text):
        return None
    sample = text if len(text) < _SAMPLE_BYTES else _sample_text(_sample(data), codec)
    return text if _believable(sample) else None


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeDecodeError, LookupError, ValueError):
        return None


def _readings(sample: bytes, candidates: Sequence[str]) -> list[_Reading]:
    """The believable readings, best first."""
    readings = []
    least = _LEAST_RARE if candidates is _RARE else _LEAST
    for codec, confidence in _ranked(sample, candidates):
        text = _sample_text(sample, codec)
        if text and confidence >= least[codec in _LATIN] and _believable(text):
            readings.append(_Reading(codec, text, confidence))
    return readings


def _without_doubt(readings: list[_Reading]) -> list[_Reading]:
    for other in readings[1:]:
        first = readings[0]
        margin = _CLOSE_PAIR if {first.codec, other.codec} == _PAIR else _MARGIN
        if other.confidence * margin >= first.confidence and other.sample != first.sample:
            raise _undecided(f"{first.codec} and {other.codec} are both possible")
    return readings


def _undecided(why: str) -> InputError:
    return InputError(f"cannot tell which encoding the text is in: {why}", hint=_HINT)


def _sample(data: bytes) -> bytes:
    """The lines that hold other bytes than ASCII: the rest says nothing."""
    lines, size = [], 0
    for line in data.splitlines(keepends=True):
        if high := _HIGH_BYTES.search(line):
            start = max(0, high.start() - 200) if len(line) > _SAMPLE_BYTES else 0
            lines.append(line[start : start + _SAMPLE_BYTES])
            size += len(lines[-1])
            if size > _SAMPLE_BYTES:
                break
    return b"".join(lines)


def _sample_text(sample: bytes, codec: str) -> str:
    """Decode a sample, which may end inside a character; "" when it does not fit."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(sample)
    except (UnicodeDecodeError, LookupError, ValueError):
        return ""


def _ranked(sample: bytes, candidates: Sequence[str]) -> Iterator[tuple[str, float]]:
    import chardet

    for found in chardet.detect_all(
        sample, ignore_threshold=True, compat_names=False, include_encodings=candidates
    ):
        if name := found["encoding"]:
            yield {"iso8859-1": "cp1252", "shift_jis": "cp932"}.get(name, name), found["confidence"]


def _refuse_damaged_utf8(data: bytes) -> None:
    high = sum(len(run) for run in _HIGH_BYTES.findall(data))
    valid = sum(len(run) for run in _UTF8.findall(data))
    if high and valid / high >= 0.6:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"cannot tell which encoding the text is in: UTF-8 with damaged bytes, "
                f"the first at byte {error.start + 1}, line {line}",
                hint=_HINT,
                line=line,
            ) from error


def _believable(text: str) -> bool:
    if NOT_TEXT.search(text):
        return False
    high = [char for char in text if char > "\x7f"]
    if any(unicodedata.category(char) in ("Cn", "Co", "Cs") for char in set(high)):
        return False
    odd = len(_ODD.findall(text)) + 2 * len(_LONG_HIGH.findall(text)) + _mixed_words(text)
    odd += sum(char.isupper() for char in _AFTER_LOWER.findall(text))
    if odd > len(high) / 100:
        return False
    words = "".join(word for word in _WORD.findall(text) if not word.isascii())
    latin = [char for char in words if char < "\u0250"]
    return sum(char > "\x7f" for char in latin) <= len(latin) * 0.7


def _script(char: str) -> str:
    if char < "\u0250" or "\u1e00" <= char <= "\u1eff":
        return "Latin"
    if "\u0370" <= char < "\u0400":
        return "Greek"
    if char < "\u0530":
        return "Cyrillic" if char >= "\u0400" else ""
    if char < "\u0600":
        return "Hebrew"
    return "Arabic" if char < "\u0780" else ""


def _mixed_words(text: str) -> int:
    """How many words mix alphabets, as no language does."""
    mixed = 0
    for word in _WORD.findall(text):
        if not word.isascii() and not _CJK.search(word):
            mixed += len({_script(char) for char in word} - {""}) > 1
    return mixed
