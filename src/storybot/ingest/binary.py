"""Telling text from other kinds of file by its first bytes."""

from storybot.errors import InputError

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or Word, Excel, EPUB file)"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive"),
    (b"\x7fELF", "ELF program"),
    (b"\xca\xfe\xba\xbe", "Java class or macOS program"),
    (b"\xcf\xfa\xed\xfe", "macOS program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Word, Excel or Outlook file"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"OggS", "Ogg sound or film"),
    (b"ID3", "MP3 sound"),
    (b"fLaC", "FLAC sound"),
    (b"\x1aE\xdf\xa3", "Matroska film"),
    (b"{\\rtf", "RTF document"),
    (b"%!PS", "PostScript document"),
    (b"wOF2", "font"),
    (b"\x00asm", "WebAssembly program"),
)
_NEEDS_NON_TEXT = frozenset((b"BZh", b"ID3", b"OggS", b"wOF2", b"fLaC"))
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_HINT = "Export the story as text, Markdown or JSON and give that file."


def kind_of(data: bytes) -> str:
    """Name the kind of a binary file by its magic bytes; "" when none is known."""
    for magic, name in _MAGIC:
        if data.startswith(magic) and (
            magic not in _NEEDS_NON_TEXT or _control_share(data[:512]) > 0
        ):
            return name
    if data[:4] == b"RIFF" and data[8:12] in (b"WAVE", b"WEBP", b"AVI "):
        return "RIFF sound, image or film"
    if data[4:8] == b"ftyp":
        return "MP4 film or HEIC image"
    if data[:2] == b"MZ" and b"PE\x00\x00" in data[:1024]:
        return "Windows program"
    return ""


def refuse_binary(data: bytes) -> None:
    """Raise InputError when ``data`` is not text in any encoding of single bytes."""
    if name := kind_of(data):
        raise InputError(f"a binary file, not text: {name}", hint=_HINT)
    if _control_share(data) > 0.05:
        raise InputError("a binary file, not text: too many control characters", hint=_HINT)


def _control_share(data: bytes) -> float:
    kept = len(data.translate(None, _CONTROLS))
    return (len(data) - kept) / max(len(data), 1)
