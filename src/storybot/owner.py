"""Who holds a data directory: one process at a time, named so that others can reach it."""

import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from storybot.errors import DiskFullError, StoreBusyError

_ATTEMPT = 0.3
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Owner:
    """The holder of a data directory. ``address`` is None while it serves no requests.

    ``pid`` is 0 when the holder has not written its name.
    """

    pid: int
    address: str | None
    token: str


class Ownership:
    """The lock on a data directory, held from ``take`` to ``release``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / "owner.lock", timeout=_ATTEMPT, mode=0o600)
        self._inode = 0
        self.token = secrets.token_urlsafe(32)

    def take(self) -> None:
        """Become the owner, or raise StoreBusyError naming the process that is."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(poll_interval=0.02)
            self._inode = (self._folder / "owner.lock").stat().st_ino
        except Timeout as error:
            owner = current_owner(self._folder)
            who = f"process {owner.pid}" if owner and owner.pid else "another process"
            hint = "Wait for it to end, or use another STORYBOT_DATA_DIR."
            if owner and owner.address:
                hint = f"Its chat page is at {owner.address}. Otherwise: {hint}"
            raise StoreBusyError(f"{self._folder} is in use by {who}.", hint=hint) from error
        except OSError as error:
            raise DiskFullError(
                f"{self._folder} cannot be written: {error.strerror}.",
                hint="Allow writing there, or set STORYBOT_DATA_DIR to another folder.",
            ) from error
        try:
            self.announce(None)
        except BaseException:
            self._lock.release()
            raise

    def announce(self, address: str | None) -> None:
        """Record this process, and where it takes requests once it does.

        Nothing is recorded in a directory that was removed or replaced meanwhile.
        """
        if not self._holds():
            return
        path = self._folder / "owner.json"
        fresh = path.with_suffix(".new")
        text = json.dumps(asdict(Owner(os.getpid(), address, self.token)))
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            fresh.replace(path)
        except OSError as error:
            raise DiskFullError(
                f"{path} cannot be written: {error.strerror}.",
                hint="Free some room or allow writing in the data directory.",
            ) from error

    def release(self) -> None:
        if self._lock.is_locked:
            if self._holds():
                (self._folder / "owner.json").unlink(missing_ok=True)
            self._lock.release()

    def _holds(self) -> bool:
        try:
            return (self._folder / "owner.lock").stat().st_ino == self._inode
        except OSError:
            return False


def current_owner(folder: Path) -> Owner | None:
    """Who holds the folder now, or None when nobody does."""
    if not (folder / "owner.lock").exists():
        return None
    # Long enough to wait out another probe, which holds the lock for an instant.
    probe = FileLock(folder / "owner.lock", timeout=_ATTEMPT, mode=0o600)
    try:
        probe.acquire(poll_interval=0.02)
    except Timeout:
        pass
    except OSError:
        return None
    else:
        probe.release()
        return None
    for _ in range(_TRIES):
        try:
            held = json.loads((folder / "owner.json").read_text(encoding="utf-8"))
            return Owner(int(held["pid"]), held["address"], str(held["token"]))
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.02)
    return Owner(0, None, "")
