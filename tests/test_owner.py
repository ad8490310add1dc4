"""One process holds a data directory, and others can learn which."""

import json
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from storybot.errors import DiskFullError, StoreBusyError
from storybot.owner import Ownership, current_owner


def test_the_holder_is_named_until_it_lets_go(data_dir: Path) -> None:
    assert current_owner(data_dir) is None
    held = Ownership(data_dir)
    held.take()
    owner = current_owner(data_dir)
    assert owner is not None
    assert (owner.pid, owner.address, owner.token) == (os.getpid(), None, held.token)
    held.announce("http://127.0.0.1:7860")
    owner = current_owner(data_dir)
    assert owner is not None
    assert owner.address == "http://127.0.0.1:7860"
    held.release()
    assert current_owner(data_dir) is None


def test_a_second_holder_is_refused_and_told_the_first(data_dir: Path) -> None:
    held = Ownership(data_dir)
    held.take()
    with pytest.raises(StoreBusyError, match=f"process {os.getpid()}"):
        Ownership(data_dir).take()
    held.announce("http://127.0.0.1:7861")
    with pytest.raises(StoreBusyError) as refused:
        Ownership(data_dir).take()
    assert "http://127.0.0.1:7861" in (refused.value.hint or "")
    held.release()
    after = Ownership(data_dir)
    after.take()
    after.release()


def test_only_this_user_may_read_the_token(data_dir: Path) -> None:
    held = Ownership(data_dir)
    held.take()
    for name in ("owner.json", "owner.lock"):
        assert stat.S_IMODE((data_dir / name).stat().st_mode) == 0o600
    held.release()


def test_each_start_has_its_own_token(data_dir: Path) -> None:
    assert Ownership(data_dir).token != Ownership(data_dir).token


def test_what_a_killed_process_left_behind_names_nobody(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "owner.lock").touch()
    (data_dir / "owner.json").write_text(json.dumps({"pid": 1, "address": "x", "token": "y"}))
    assert current_owner(data_dir) is None
    held = Ownership(data_dir)
    held.take()
    held.release()


@pytest.mark.parametrize("text", ["", '{"pid": "one"}'])
def test_a_holder_whose_name_cannot_be_read_still_holds(data_dir: Path, text: str) -> None:
    held = Ownership(data_dir)
    held.take()
    (data_dir / "owner.json").write_text(text)
    owner = current_owner(data_dir)
    assert owner is not None
    assert (owner.pid, owner.address) == (0, None)
    with pytest.raises(StoreBusyError, match="another process"):
        Ownership(data_dir).take()
    held.release()


def test_looking_does_not_keep_anybody_from_taking(data_dir: Path) -> None:
    Ownership(data_dir).take()
    looking = threading.Event()

    def look() -> None:
        while not looking.is_set():
            current_owner(data_dir)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            held = Ownership(data_dir)
            held.take()
            held.release()
    finally:
        looking.set()
        for thread in threads:
            thread.join()


def test_a_directory_replaced_meanwhile_is_left_to_its_new_holder(data_dir: Path) -> None:
    old = Ownership(data_dir)
    old.take()
    shutil.rmtree(data_dir)
    new = Ownership(data_dir)
    new.take()
    new.announce("http://127.0.0.1:1")
    old.announce(None)
    old.release()
    owner = current_owner(data_dir)
    assert owner is not None
    assert owner.address == "http://127.0.0.1:1"
    new.release()


def test_a_removed_directory_can_be_let_go(data_dir: Path) -> None:
    held = Ownership(data_dir)
    held.take()
    shutil.rmtree(data_dir)
    held.announce(None)
    held.release()
    assert not data_dir.exists()


def test_a_file_in_place_of_the_directory_is_named(data_dir: Path) -> None:
    data_dir.write_text("not a folder")
    with pytest.raises(DiskFullError, match=str(data_dir)):
        Ownership(data_dir).take()
