"""Several processes and one data directory: one owns it, the others go through it."""

import io
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gradio_client import Client as PageClient

from helpers import PATIENCE, Cli, Server, lines, start, story, wait_until
from storybot.bot import Storybot
from storybot.client import Client
from storybot.errors import NotFoundError, QuestionError
from storybot.owner import Owner, current_owner
from storybot.service import AskQuery
from storybot.settings import load_settings


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("served") / "data") as started:
        yield started


@pytest.fixture
def served(server: Server) -> Cli:
    return Cli(server.data_dir)


def owner_of(server: Server) -> Owner:
    owner = current_owner(server.data_dir)
    assert owner is not None
    return owner


def faults(cli: Cli) -> list[str]:
    """What is wrong, passages that wait for their vectors included."""
    return list(json.loads(cli("check", "--json").stdout)["faults"])


def write(path: Path, *numbers: int, **fields: object) -> Path:
    path.write_bytes(lines(story(n, **fields) for n in numbers))
    return path


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.torture)])
def test_of_two_ingests_at_once_neither_harms_the_other(
    cli: Cli, tmp_path: Path, count: int
) -> None:
    files = [
        write(tmp_path / f"{part}.jsonl", *range(part * count, (part + 1) * count))
        for part in (0, 1)
    ]
    running = [start(cli.data_dir, "ingest", file) for file in files]
    told = [process.communicate(timeout=PATIENCE) for process in running]
    for file, process, (out, said) in zip(files, running, told, strict=True):
        assert "Traceback" not in said
        if process.returncode == 0:
            assert out.startswith(f"{count} added")
        else:
            other = running[1 - running.index(process)].pid
            assert process.returncode == 3
            assert f"process {other}" in said
            assert cli("ingest", file).exit_code == 0
    assert any(process.returncode == 0 for process in running)
    checked = cli.json("check", "--json")
    assert checked["stories"] == 2 * count
    assert checked["faults"] == []


def test_the_file_of_the_owner_is_private_and_names_the_server(server: Server) -> None:
    owner = owner_of(server)
    assert (owner.pid, owner.address) == (server.process.pid, server.url)
    assert (server.data_dir / "owner.json").stat().st_mode & 0o077 == 0


def test_the_next_question_is_answered_from_a_story_just_added(
    served: Cli, server: Server, tmp_path: Path
) -> None:
    question = "What was registered under K00003?"
    page = PageClient(server.url, verbose=False)
    assert page.predict(question, api_name="/ask")["status"] == "declined"
    assert served.json("ask", "--json", question)["status"] == "declined"
    report = served.json("ingest", "--json", write(tmp_path / "s.jsonl", 3))
    assert report == {"added": 1, "updated": 0, "unchanged": 0, "failed": []}
    shown = page.predict(question, api_name="/ask")
    assert "market" in shown["text"]
    answer = served.json("ask", "--json", question)
    assert answer["sentences"][0]["text"].startswith("The old market was registered under K00003")
    wait_until(lambda: faults(served) == [])
    assert served.json("search", "--json", "K00003")["retrieval"] == "full"
    write(tmp_path / "s.jsonl", 3, text="The old market was sold under K00003.")
    assert served.json("ingest", "--json", tmp_path / "s.jsonl")["updated"] == 1
    assert "sold" in page.predict(question, api_name="/ask")["text"]


def test_commands_do_the_same_through_a_server(served: Cli, server: Server, tmp_path: Path) -> None:
    served("ingest", write(tmp_path / "s.jsonl", 11, 12))
    story_id = next(
        line.split()[0] for line in served("stories").stdout.splitlines() if "ward 12" in line
    )
    assert served.json("stories", "show", story_id, "--json")["headline"].endswith("ward 12")
    assert served("delete", story_id).exit_code == 0
    for words in (
        ["stories", "show", story_id],
        ["stories", "show", "../../x?y#z"],
        ["delete", story_id],
        ["ask", ""],
        ["ask", "x" * 3_000],
    ):
        result = served(*words)
        assert result.exit_code == 2, words
        assert result.stderr.startswith("storybot: ")
    sent = [{"id": 1, "question": "What was registered under K00011?"}]
    result = served("ask", "--json", "-", stdin=lines(sent))
    assert "K00011" in json.loads(result.stdout)["text"]
    assert served("check").exit_code in (0, 1)
    assert served("reembed").exit_code == 3
    assert served("serve", "--port", "0").exit_code == 3


def test_a_pipe_and_a_bad_file_go_through_a_server(served: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(
        target=(tmp_path / "pipe").write_bytes, args=(lines([story(21)]) + b"{}\n",)
    )
    writing.start()
    result = served("ingest", "--json", tmp_path / "pipe")
    writing.join()
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["added"] == 1
    assert report["failed"][0]["line"] == 2


def test_the_same_stories_sent_by_several_at_once_are_there_once(server: Server) -> None:
    data = lines(story(n) for n in range(100, 130))
    together = threading.Barrier(4)
    added: list[int] = []

    def send() -> None:
        with Client(owner_of(server)) as client:
            together.wait()
            added.append(client.ingest(io.BytesIO(data), "s.jsonl", lambda _: None).added)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sum(added) == 30
    with Client(owner_of(server)) as client:
        for n in (100, 115, 129):
            found = client.ask(AskQuery(question=f"What was registered under K{n:05d}?"))
            assert [hit.story.headline for hit in found.hits].count(story(n)["headline"]) == 1


def test_without_the_token_nothing_is_told(server: Server) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        assert http.get("/api/v1/health").status_code == 200
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": b"Bearer \xff"}):
            for method, path in (
                ("GET", "/api/v1/stories"),
                ("POST", "/api/v1/ask"),
                ("POST", "/api/v1/stories?source=x"),
                ("DELETE", "/api/v1/stories/x"),
                ("POST", "/api/v1/check"),
            ):
                answer = http.request(method, path, headers=headers, json={"question": "x"})
                assert answer.status_code == 401, (method, path)
                assert answer.headers["content-type"] == "application/problem+json"


def test_the_owners_errors_come_as_they_are(server: Server) -> None:
    with Client(owner_of(server)) as client:
        with pytest.raises(QuestionError, match="empty") as raised:
            client.ask(AskQuery(question=" "))
        assert raised.value.hint
        with pytest.raises(NotFoundError, match="nosuchstory"):
            client.story("nosuchstory", None)


def test_one_more_ingest_as_a_process_goes_through_the_server(
    server: Server, tmp_path: Path
) -> None:
    file = write(tmp_path / "third.jsonl", *range(200, 240))
    process = start(server.data_dir, "ingest", file)
    out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "40 added, 0 updated, 0 unchanged, 0 failed\n"), said
    cli = Cli(server.data_dir)
    wait_until(lambda: faults(cli) == [])


def test_vectors_removed_under_a_server_are_made_again(server: Server, tmp_path: Path) -> None:
    cli = Cli(server.data_dir)
    cli("ingest", write(tmp_path / "s.jsonl", 31, 32))
    wait_until(lambda: faults(cli) == [])
    (folder,) = server.data_dir.glob("vectors-*")
    shutil.rmtree(folder)
    answer = cli.json("ask", "--json", "What was registered under K00031?")
    assert "K00031" in answer["text"]
    wait_until(lambda: faults(cli) == [])
    assert cli.json("search", "--json", "K00032")["retrieval"] == "full"
    assert not folder.exists()


def test_a_data_directory_removed_under_a_server_is_told(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        owner = owner_of(server)
        page = PageClient(server.url, verbose=False)
        shutil.rmtree(server.data_dir)
        with Client(owner) as client:
            for use in (
                lambda: client.ask(AskQuery(question="What was painted?")),
                lambda: client.ingest(io.BytesIO(lines([story(1)])), "s", lambda _: None),
                lambda: client.check(repair=True),
            ):
                with pytest.raises(Exception, match="removed or replaced") as raised:
                    use()
                assert "Restart" in raised.value.hint  # type: ignore[attr-defined]
        shown = page.predict("What was painted?", api_name="/ask")
        assert shown["status"] == "error"
        assert "removed or replaced" in shown["text"]
        fresh = Cli(server.data_dir)
        assert fresh.json("ingest", "--json", write(tmp_path / "s.jsonl", 1))["added"] == 1
        assert server.stop() == 0
    assert not [line for line in server.errors if "Traceback" in line or "1032" in line]
    assert Cli(server.data_dir).json("check", "--json")["stories"] == 1


def test_a_server_that_is_stopped_lets_go_cleanly(server: Server) -> None:
    """Last in this module: it ends the server the others use."""
    assert server.stop() == 0
    assert [line for line in server.errors if line.strip()] == []
    assert current_owner(server.data_dir) is None
    assert not (server.data_dir / "owner.json").exists()
    with Storybot.open(load_settings(data_dir=server.data_dir), background=False) as bot:
        bot.collection.embed_pending()
        assert bot.collection.check() == []


def test_more_than_one_worker_is_refused(cli: Cli) -> None:
    result = cli("serve", "--workers", "2")
    assert result.exit_code == 2
    assert "one process" in result.stderr
    assert not cli.data_dir.exists()
