"""Everything storybot raises on purpose.

StorybotError
├── SettingsError        a setting is unknown, malformed or out of bounds
├── InputError           bytes that could not be read as stories
├── QuestionError        a question that cannot be asked
├── NotFoundError        no such story or revision
├── ModelError           the embedding or chat model could not be used
├── ServerError          the process that owns the data directory did not answer
└── StoreError           the data directory cannot be used as it is
    ├── StoreBusyError       another process holds it
    ├── StoreGoneError       it was removed while in use
    ├── StoreDamagedError    a file in it is not what it should be
    ├── StoreVersionError    made by a newer storybot
    ├── StoreModelError      made with another embedding model
    └── DiskFullError        no room, or no right, to write

Surfaces (command line, HTTP, page) catch StorybotError and nothing else.
"""


class StorybotError(Exception):
    """An error with advice: ``hint`` says what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SettingsError(StorybotError):
    pass


class InputError(StorybotError):
    """``line`` is 1-based within the source, or None when it concerns the whole."""

    def __init__(self, message: str, *, hint: str = "", line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line


class QuestionError(StorybotError):
    pass


class NotFoundError(StorybotError):
    pass


class ModelError(StorybotError):
    pass


class ServerError(StorybotError):
    pass


class StoreError(StorybotError):
    pass


class StoreBusyError(StoreError):
    pass


class StoreGoneError(StoreError):
    pass


class StoreDamagedError(StoreError):
    pass


class StoreVersionError(StoreError):
    pass


class StoreModelError(StoreError):
    pass


class DiskFullError(StoreError):
    pass
