"""Bytes to clean Unicode: one text whatever the encoding, or a refusal."""

import codecs
import re
import unicodedata
from dataclasses import dataclass

from storybot.errors import InputError
from storybot.ingest import detecting
from storybot.ingest.binary import kind_of, refuse_binary

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
# As browsers do: these names are used for text that is really the wider set.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
}
_NEWLINES = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_DROPPED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_COMMON_WIDE = re.compile("[\\n\\r\\t -~\u00a0-\u00ff\u2010-\u201f\u3000-\u30ff\u0400-\u045f]")
_KNOWN_WIDE = re.compile(
    "[\\n\\r\\t -~\u00a0-\u06ff\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef]"
)
_DOUBLE = re.compile("[\u00c2-\u00f4][^\x00-\x7f]")
_C1 = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the codec it was read with, and what had to be changed in it."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, *, declared: str | None = None) -> str:
    """Read bytes of any usual encoding as clean NFC text with ``\\n`` newlines.

    ``declared`` is a charset named elsewhere; Unicode that is valid wins over it.
    Raises InputError for binary files and for encodings that cannot be told.
    """
    return decode_text(data, declared=declared).text


def decode_text(data: bytes, *, declared: str | None = None) -> Decoded:
    """Like `decode`, and tell the encoding and the warnings."""
    encoding, text = _read(data, declared)
    text, undone = _undo_double(text)
    text, warnings = clean(text)
    return Decoded(text, encoding, (*undone, *warnings))


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    """Normalise newlines and NFC, drop control characters and lone surrogates.

    Returns the text and a warning when anything was dropped or replaced.
    """
    if text.isascii() and not _DROPPED.search(text):
        return _NEWLINES.sub("\n", text), ()
    text = _SURROGATE_PAIR.sub(_join_pair, text.removeprefix("\ufeff"))
    text = _NEWLINES.sub("\n", text)
    warnings: tuple[str, ...] = ()
    if found := _DROPPED.findall(text):
        names = ", ".join(f"U+{ord(char):04X}" for char in sorted(set(found))[:5])
        warnings = (f"control or broken characters removed: {len(found)} ({names})",)
        text = _DROPPED.sub(lambda match: _C1.get(ord(match[0]), ""), text)
    return unicodedata.normalize("NFC", text), warnings


def _join_pair(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def wide_encoding(data: bytes) -> str:
    """Name the UTF-16 or UTF-32 form that ``data`` is in; "" when in none."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return name if name in _WIDE else ""
    if data.count(0) < len(data) / 50:
        return ""
    if data.isascii() and data.count(0) < len(data) / 4:
        return ""
    scored = [(_wide_score(data, name), name) for name in _WIDE]
    score, name = max(scored)
    return name if score else ""


def _wide_score(data: bytes, codec: str) -> float:
    """How like text a sample reads as ``codec``, up to 2; 0 when it is not text."""
    try:
        text = data[:40_000].decode(codec)
    except UnicodeDecodeError:
        return 0.0
    if not text or detecting.NOT_TEXT.search(text):
        return 0.0
    share = len(_COMMON_WIDE.findall(text)) / len(text)
    letters = sum(char.isalpha() for char in text)
    if letters < len(text) / 3 or share < (0.03 if len(text) >= 12 or "32" in codec else 0.8):
        return 0.0
    return share + len(_KNOWN_WIDE.findall(text)) / len(text)


def _read(data: bytes, declared: str | None) -> tuple[str, str]:
    for bom, name in _BOMS:
        if data.startswith(bom):
            return name, _strict(data[len(bom) :], name)
    if not kind_of(data) and (wide := wide_encoding(data)):
        return wide, _strict(data, wide)
    refuse_binary(data)
    if b"\x1b$" in data or b"\x1b(" in data:
        text = detecting.read_as(data, "iso2022_jp_ext")
        if text is not None:
            return "iso2022_jp", text
    try:
        return "utf-8", data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    return detecting.guess(data, declared=_codec(declared))


def _codec(declared: str | None) -> str:
    """The codec of a declared charset; "" for unknown names and for Unicode ones."""
    try:
        name = codecs.lookup((declared or "").strip("\"' \t\n")).name
    except (LookupError, ValueError):
        return ""
    is_text = getattr(codecs.lookup(name), "_is_text_encoding", True)
    return _WIDER.get(name, name) if is_text and not name.startswith("utf") else ""


def _strict(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise InputError(
            f"cannot tell which encoding the text is in: it begins as {codec.upper()} "
            f"but byte {error.start + 1} does not fit",
            hint="Save the file again as UTF-8; it may have been cut short.",
        ) from error


def _undo_double(text: str) -> tuple[str, tuple[str, ...]]:
    """Undo UTF-8 that was read as windows-1252 and saved again, line by line."""
    if not _DOUBLE.search(text):
        return text, ()
    from ftfy.badness import is_bad

    lines, undone = text.split("\n"), 0
    for number, line in enumerate(lines):
        if not _DOUBLE.search(line):
            continue
        fixed = _once_less(line)
        if fixed is not None and is_bad(line) and not is_bad(fixed):
            lines[number] = fixed
            undone += 1
    if not undone:
        return text, ()
    return "\n".join(lines), (f"text encoded twice was put right in {undone} line(s)",)


def _once_less(line: str) -> str | None:
    try:
        raw = b"".join(char.encode("latin-1" if char <= "\xff" else "cp1252") for char in line)
        return raw.decode("utf-8")
    except UnicodeError:
        return None
