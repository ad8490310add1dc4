"""The vector index finds what it holds, and says when it cannot."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers import Disk
from storybot.errors import DiskFullError, StoreDamagedError
from storybot.index import VectorIndex


def unit(count: int, size: int = 32, seed: int = 0) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def names(count: int) -> list[str]:
    return [f"k{n}" for n in range(count)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.fixture
def index(folder: Path) -> Iterator[VectorIndex]:
    opened = VectorIndex(folder)
    yield opened
    opened.close()


def test_the_nearest_come_first_with_their_cosine(index: VectorIndex) -> None:
    vectors = unit(50)
    index.upsert(names(50), vectors)
    found = index.query(vectors[7], 3)
    assert found[0] == ("k7", pytest.approx(1.0, abs=1e-5))
    cosines = vectors @ vectors[7]
    assert [key for key, _ in found] == [f"k{n}" for n in np.argsort(-cosines)[:3]]
    assert found[1][1] == pytest.approx(np.sort(cosines)[-2], abs=1e-5)


def test_a_search_among_some_finds_only_those(index: VectorIndex) -> None:
    vectors = unit(50)
    index.upsert(names(50), vectors)
    assert {key for key, _ in index.query(vectors[7], 5, among=["k1", "k2"])} == {"k1", "k2"}
    assert index.query(vectors[7], 5, among=[]) == []
    assert index.query(vectors[7], 0) == []


def test_asking_for_more_than_there_is_gives_all(index: VectorIndex) -> None:
    assert index.query(unit(1)[0], 5) == []
    index.upsert(names(3), unit(3))
    assert len(index.query(unit(1)[0], 100)) == 3


def test_a_key_written_twice_is_there_once_with_the_later_vector(index: VectorIndex) -> None:
    first, second = unit(2)
    index.upsert(["k"], first[None])
    index.upsert(["k"], second[None])
    assert index.count() == 1
    assert index.vectors(["k", "absent"])["k"] == pytest.approx(second, abs=1e-6)


def test_more_than_one_batch_is_kept_and_all_can_be_read_and_deleted(index: VectorIndex) -> None:
    index.upsert(names(6_000), unit(6_000, 8))
    assert index.keys() == set(names(6_000))
    assert len(index.vectors(names(6_000))) == 6_000
    index.delete(names(5_990))
    assert index.keys() == {f"k{n}" for n in range(5_990, 6_000)}


def test_everything_is_there_after_reopening(index: VectorIndex, folder: Path) -> None:
    vectors = unit(1_500)
    index.upsert(names(1_500), vectors)
    index.close()
    again = VectorIndex(folder)
    assert again.count() == 1_500
    assert again.unreachable(names(1_500)) == []
    again.close()


def test_the_same_path_can_be_opened_again_after_its_removal(
    index: VectorIndex, folder: Path
) -> None:
    index.upsert(names(5), unit(5))
    index.close()
    shutil.rmtree(folder)
    again = VectorIndex(folder)
    assert again.count() == 0
    again.upsert(["k"], unit(1))
    assert again.unreachable(["k"]) == []
    again.close()


def test_keys_that_are_not_there_are_unreachable(index: VectorIndex) -> None:
    index.upsert(names(10), unit(10))
    assert index.unreachable(["k3", "absent"]) == ["absent"]


def test_a_vector_that_is_not_whole_is_unreachable(index: VectorIndex) -> None:
    vectors = unit(10)
    vectors[4, :16] = 0
    index.upsert(names(10), vectors)
    assert index.unreachable(names(10)) == ["k4"]


def test_many_equal_vectors_are_all_reachable(index: VectorIndex) -> None:
    index.upsert(names(40), np.repeat(unit(1), 40, axis=0))
    assert index.unreachable(names(40)) == []


def test_a_removed_folder_is_told_in_storybots_words(index: VectorIndex, folder: Path) -> None:
    index.upsert(names(5), unit(5))
    shutil.rmtree(folder)
    for use in (
        index.count,
        index.keys,
        lambda: index.query(unit(1)[0], 1),
        lambda: index.upsert(["k"], unit(1)),
        lambda: index.delete(["k1"]),
    ):
        with pytest.raises(StoreDamagedError, match="is gone") as raised:
            use()
        assert "check --repair" in raised.value.hint
    assert index.broken


def test_a_closed_index_refuses_and_may_be_closed_again(index: VectorIndex) -> None:
    index.close()
    index.close()
    with pytest.raises(StoreDamagedError):
        index.count()


@pytest.mark.parametrize("data", [os.urandom(4096), b"garbage" * 1000], ids=["random", "text"])
def test_a_damaged_file_will_not_open(index: VectorIndex, folder: Path, data: bytes) -> None:
    index.upsert(names(5), unit(5))
    index.close()
    (folder / "chroma.sqlite3").write_bytes(data)
    with pytest.raises(StoreDamagedError, match="cannot be opened") as raised:
        VectorIndex(folder)
    assert "check --repair" in raised.value.hint


def test_no_room_is_told_apart_from_damage(index: VectorIndex, monkeypatch: Any) -> None:
    def no_room(**_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(index._collection, "upsert", no_room)
        with pytest.raises(DiskFullError, match="disk is full"):
            index.upsert(["k"], unit(1))
    assert not index.broken
    index.upsert(["k"], unit(1))
    assert index.unreachable(["k"]) == []


def test_a_disk_that_is_really_full_is_told_and_room_helps(small_disk: Disk) -> None:
    small_disk.resize(3)
    index = VectorIndex(small_disk.path / "vectors")
    with pytest.raises(DiskFullError):
        index.upsert(names(6_000), unit(6_000, 384))
    index.close()
    small_disk.resize(64)
    after = VectorIndex(small_disk.path / "again")
    after.upsert(names(200), unit(200, 384))
    assert after.unreachable(names(200)) == []
    after.close()


def test_a_folder_that_may_not_be_written_is_told(small_disk: Disk) -> None:
    index = VectorIndex(small_disk.path / "vectors")
    index.upsert(names(5), unit(5))
    index.close()
    small_disk.writable(allowed=False)
    with pytest.raises(DiskFullError, match="read-only"):
        VectorIndex(small_disk.path / "vectors").upsert(["k"], unit(1))
