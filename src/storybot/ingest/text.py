"""Plain text stories: the headline, then the text."""

from storybot.errors import InputError
from storybot.ingest.decoding import decode_text
from storybot.ingest.records import Record, build
from storybot.types import Draft


def read_text(data: bytes, *, source: str) -> Draft:
    """Read one story whose first line with words is its headline. Raises InputError."""
    decoded = decode_text(data)
    headline, _, body = decoded.text.lstrip().partition("\n")
    if not headline.strip():
        raise InputError("empty file", hint="Put a headline and a text in it.")
    record = Record(headline=headline, body=body, warnings=decoded.warnings)
    return build(record, source=source, path=source)
