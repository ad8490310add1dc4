"""The command: clear words, honest exit codes, and never a traceback."""

import gzip
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from helpers import COMMAND, PATIENCE, Cli, copied, environment, lines, story
from storybot.bot import Storybot
from storybot.cli import main
from storybot.errors import QuestionError
from storybot.owner import Ownership
from storybot.settings import load_settings

COMMANDS = [*main.commands.items(), ("stories show", main.commands["stories"].commands["show"])]  # type: ignore[attr-defined]
QUESTIONS = {
    "operator": "AND",
    "operators": "bridge OR NOT AND",
    "quote": '"',
    "quotes": '"bridge" "',
    "possessive": "What was the mayor's ferry?",
    "curly": "the mayor’s “ferry”",
    "star": "*",
    "prefix": "ferr*",
    "near": "NEAR(ferry ward, 2)",
    "column": "headline: ferry",
    "unknown column": "col:ferry",
    "minus": "-ferry",
    "caret": "^ferry",
    "braces": "{headline text}: ferry",
    "brackets": "(((",
    "semicolon": "'; DROP TABLE stories; --",
    "percent": "%s %d {0} {ferry}",
    "euro": "€4.2 ferry",
    "emoji": "🌉👩‍👩‍👧‍👦",
    "right to left": "متى أغلق الجسر؟ \u202egnp.exe",
    "nothing between": "\u200b\u200d\ufeff",
    "one letter": "a",
    "combining": "\u0301\u0301\u0301",
    "digits": "9" * 500,
    "two thousand": "ferry " * 333,
    "stop words": "what is it that they are of",
    "punctuation": "?!…—;:,.",
    "Japanese": "橋",
    "bytes": "caf\udce9",
}
NO_QUESTIONS = ("operator", "quote", "star", "brackets", "emoji", "nothing between", "punctuation")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    folder = tmp_path_factory.mktemp("filled")
    (folder / "stories.jsonl").write_bytes(lines(story(n) for n in range(6)))
    cli = Cli(folder / "data")
    assert cli("ingest", folder / "stories.jsonl").exit_code == 0
    return cli


@pytest.fixture(scope="module")
def searched(filled: Cli, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storybot]:
    folder = copied(filled.data_dir, tmp_path_factory.mktemp("searched") / "data")
    with Storybot.open(load_settings(data_dir=folder), background=False) as opened:
        yield opened


def one_line(text: str) -> None:
    assert text.startswith("storybot: ")
    assert text.count("\n") == 1


# What each command says of itself


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_has_help_with_an_example(name: str, command: click.Command) -> None:
    shown = CliRunner().invoke(main, [*name.split(), "--help"])
    assert shown.exit_code == 0
    assert "Example" in shown.stdout
    assert f"storybot {name.split()[0]}" in shown.stdout
    assert command.help


def test_help_of_the_whole_names_every_command() -> None:
    shown = CliRunner().invoke(main, ["-h"])
    assert all(name in shown.stdout for name in main.commands)


def test_the_version_is_told() -> None:
    from importlib.metadata import version

    assert CliRunner().invoke(main, ["--version"]).stdout.strip().endswith(version("storybot"))


def test_the_installed_command_starts_and_needs_no_libraries_to_help() -> None:
    code = COMMAND[-1] + ", print('unreached')"
    probe = (
        "import sys, atexit; atexit.register(lambda: print(sorted({'torch', 'chromadb', 'gradio', "
        f"'langchain_core'}} & set(sys.modules)))); sys.argv = ['storybot', '--help']; {code}"
    )
    shown = subprocess.run(
        [COMMAND[0], "-c", probe],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(),
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "Usage: storybot" in shown.stdout
    assert shown.stdout.endswith("[]\n")


# Exit codes


def test_declining_is_done(filled: Cli) -> None:
    result = filled("ask", "Who is the king of Peru?")
    assert result.exit_code == 0
    assert "do not answer" in result.stdout


def test_an_empty_collection_says_how_to_fill_it(cli: Cli) -> None:
    answer = cli.json("ask", "--json", "Who?")
    assert answer["status"] == "declined"
    assert "storybot ingest" in answer["notices"][0]["text"]
    assert "storybot ingest" in cli("stories").stdout
    assert cli("search", "bridge").stdout == "No passage was found.\n"
    assert cli.json("search", "--json", "bridge")["hits"] == []
    assert cli("check").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["ask"],
        ["ingest"],
        ["ask", "-"],
        ["search", "x", "-k", "0"],
        ["search", "x", "-k", "many"],
        ["ask", "x", "--since", "soon"],
        ["ask", "x", "--until", "2026-13-01"],
        ["ask", "x", "--now", ""],
        ["ask", "x", "--since", "0001-01-01T00:00+14:00"],
        ["stories", "--offset", "99999999999999999999"],
        ["ask", "x", "--until", "9999-12-31T23:59-12:00"],
        ["ask", "x", *["--outlet", "y"] * 60],
        ["stories", "--limit", "1001"],
        ["stories", "show", "nosuchstory"],
        ["stories", "show", "caf\udce9"],
        ["delete", "nosuchstory"],
        ["delete", "../../etc"],
        ["serve", "--workers", "2"],
        ["serve", "--port", "99999"],
        ["ask", ""],
        ["ask", "  \x07 "],
        ["ask", "ferry " * 1_700],
    ],
    ids=lambda words: " ".join(words)[:40].encode("ascii", "replace").decode(),
)
def test_wrong_usage_is_2_with_words(filled: Cli, words: list[str]) -> None:
    result = filled(*words)
    assert result.exit_code == 2
    assert result.stderr.strip()
    assert result.stdout == ""


def test_a_collection_in_use_is_3_and_names_the_process(cli: Cli) -> None:
    held = Ownership(cli.data_dir)
    held.take()
    try:
        for words in (["ask", "x"], ["ingest", __file__], ["stories"], ["reembed"], ["serve"]):
            port = ["--port", "0"] if words == ["serve"] else []
            result = cli(*words, *port)
            assert result.exit_code == 3
            assert f"process {os.getpid()}" in result.stderr
            one_line(result.stderr)
    finally:
        held.release()


def test_a_server_that_does_not_answer_is_3(cli: Cli) -> None:
    held = Ownership(cli.data_dir)
    held.take()
    held.announce("http://127.0.0.1:9")
    try:
        result = cli("ask", "x")
        assert result.exit_code == 3
        assert "does not answer" in result.stderr
        one_line(result.stderr)
    finally:
        held.release()


def test_another_model_is_3_and_an_empty_one_takes_it(filled: Cli, tmp_path: Path) -> None:
    other = copied(filled.data_dir, tmp_path / "data")
    result = Cli(other)("--embedding-model", "another/model", "ask", "x")
    assert result.exit_code == 3
    assert "reembed" in result.stderr
    one_line(result.stderr)
    result = Cli(tmp_path / "new")("--embedding-model", "another/model", "ingest", __file__)
    assert result.exit_code == 3
    one_line(result.stderr)


def test_an_interruption_is_130_and_lets_go(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "s.jsonl").write_bytes(lines([story(1)]))
    with monkeypatch.context() as patch:
        patch.setattr("storybot.collection.Collection.embed_pending", interrupted)
        assert cli("ingest", tmp_path / "s.jsonl").exit_code == 130
    report = cli.json("ingest", "--json", tmp_path / "s.jsonl")
    assert report["unchanged"] == 1
    assert cli("check").exit_code == 0


def test_an_unknown_setting_is_2(filled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYBOT_LMM", "x")
    result = filled("ask", "x")
    assert result.exit_code == 2
    assert "Did you mean llm?" in result.stderr
    one_line(result.stderr)


def test_a_data_directory_that_is_a_file_is_3(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = Cli(tmp_path / "file")("stories")
    assert result.exit_code == 3
    one_line(result.stderr)


# Asking


def test_an_answer_names_its_stories(filled: Cli) -> None:
    shown = filled("ask", "What was registered under K00003?").stdout
    assert "The old market was registered under K00003 and painted again in May. [1]" in shown
    assert "[1] The market of ward 3 (The Courier)" in shown
    assert "characters 0-" in shown


@pytest.mark.parametrize("name", ["bytes", "column", "emoji", "minus", "near", "quotes"])
def test_any_question_gets_an_answer_or_plain_words(filled: Cli, name: str) -> None:
    for command in ("ask", "search"):
        result = filled(command, "--json", "--", QUESTIONS[name])
        if result.exit_code == 2:
            one_line(result.stderr)
        else:
            assert result.exit_code == 0
            assert json.loads(result.stdout)["retrieval"] == "full"


def test_any_question_in_a_line_gets_an_answer_or_plain_words(filled: Cli) -> None:
    names = (*NO_QUESTIONS, "possessive", "near", "braces", "bytes", "digits")
    answers = asked(filled, *({"id": name, "question": QUESTIONS[name]} for name in names))
    assert [each["id"] for each in answers] == list(names)
    by_name = dict(zip(names, answers, strict=True))
    for name, answer in by_name.items():
        assert answer.get("error") or answer["retrieval"] == "full", name
    for name in NO_QUESTIONS:
        assert "error" in by_name[name] or by_name[name]["status"] == "declined", name
    for name in ("possessive", "near", "braces"):
        assert by_name[name]["hits"], name


@pytest.mark.parametrize("name", QUESTIONS)
def test_any_question_can_be_searched_for(searched: Storybot, name: str) -> None:
    try:
        status = searched.search(QUESTIONS[name]).status
    except QuestionError as error:
        status = error.hint
    assert status in ("full", "Ask about something in the stories.")


@pytest.mark.parametrize("option", ["--outlet", "--section"])
def test_an_unknown_outlet_or_section_is_told_not_ignored(filled: Cli, option: str) -> None:
    answer = filled.json("ask", "--json", "What was painted?", option, "Nowhere")
    assert answer["status"] == "declined"
    assert "Nowhere" in answer["notices"][0]["text"]
    assert filled.json("search", "--json", "painted", option, "Nowhere")["hits"] == []


def test_outlets_are_known_with_and_without_their_article(filled: Cli) -> None:
    assert filled.json("search", "--json", "K00003", "--outlet", "courier")["hits"]


def asked(cli: Cli, *questions: object) -> list[dict[str, Any]]:
    sent = b"".join(
        each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in questions
    )
    result = cli("ask", "--json", "-", stdin=sent)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == (1 if any("error" in each for each in answers) else 0)
    return answers


def test_questions_line_by_line_are_answered_in_order(filled: Cli) -> None:
    answers = asked(
        filled,
        {"id": "a", "question": "What was registered under K00003?"},
        b"\n",
        {"id": 7, "question": "What was registered under K00004?"},
        {"question": "Who is king of Peru?"},
    )
    assert [each["id"] for each in answers[:2]] == ["a", 7]
    assert "market" in answers[0]["text"]
    assert "bridge" in answers[1]["text"]
    assert answers[2]["status"] == "declined"


def test_a_line_can_follow_another(filled: Cli) -> None:
    first, second, third = asked(
        filled,
        {"id": "a", "question": "What was registered under K00003?"},
        {"id": "b", "question": "When was it painted?", "follows": "a"},
        {"id": "c", "question": "And where?", "follows": "b"},
    )
    assert first["standalone_question"] == first["question"]
    assert "K00003" in second["standalone_question"]
    assert "K00003" in third["standalone_question"]
    assert "market" in second["text"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{\n", "line 1"),
        (b"[]\n", "not a JSON object"),
        (b"{}\n", "no question"),
        (b'{"question": 5}\n', "no question"),
        (b'{"question": ""}\n', "empty"),
        (b"\xff\xfe\n", "line 1"),
        (b'{"question": "x", "follows": "z"}\n', "z"),
        (b'{"question": "x", "now": "soon"}\n', "no date"),
        (b'{"question": "x", "now": 5}\n', "no date"),
        (b"[" * 100_000 + b"\n", "line 1"),
        (b'{"question": "' + b"x" * 10_000 + b'"}\n', "10,000"),
        (b'{"id": "\\ud800", "question": "\\ud800"}\n', "line 1"),
        (b'{"id": {"a": [1]}, "question": 1}\n', "no question"),
    ],
    ids=range(13),
)
def test_a_bad_line_is_told_and_the_rest_answered(filled: Cli, line: bytes, told: str) -> None:
    bad, good = asked(filled, line, {"id": "g", "question": "What was under K00003?"})
    assert told in bad["error"]
    assert bad["error"].startswith("line 1: ")
    assert good["id"] == "g"
    assert "market" in good["text"]


def test_a_byte_order_mark_and_no_last_newline_are_read(filled: Cli) -> None:
    (answer,) = asked(filled, b'\xef\xbb\xbf{"id": "a", "question": "What was under K00003?"}')
    assert "market" in answer["text"]


def test_a_line_has_its_own_clock(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(lines([story(3, embargoed_until="2026-03-02T00:00:00Z")]))
    cli("ingest", file)
    question = {"question": "What was registered under K00003?"}
    before, after = asked(
        cli, {**question, "now": "2026-03-01"}, {**question, "now": "2026-03-02T00:00:00Z"}
    )
    assert before["status"] == "declined"
    assert after["status"] == "answered"


# Adding


def test_adding_says_what_was_done(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(lines([story(1), story(2)]))
    assert cli("ingest", file).stdout == "2 added, 0 updated, 0 unchanged, 0 failed\n"
    assert cli.json("ingest", "--json", file) == {
        "added": 0,
        "updated": 0,
        "unchanged": 2,
        "failed": [],
    }
    assert cli.json("check", "--json")["pending"] == 0


def bad_inputs(folder: Path) -> dict[str, Path]:
    made: dict[str, bytes] = {
        "empty.txt": b"",
        "blank.md": b" \n\t\n",
        "binary.txt": bytes(range(256)) * 50,
        "picture.json": b"\x89PNG\r\n\x1a\n" + bytes(500),
        "huge.txt": b"Headline\n\n" + b"A long story. " * 2_200_000,
        "headline only.txt": b"A headline and nothing else\n",
        "no body.json": b'{"headline": "x"}',
        "no headline.json": b'{"text": "x"}',
        "number.json": b"5",
        "open.json": b'{"headline": "x", "text": ',
        "deep.json": b"[" * 50_000,
        "cut.txt.gz": gzip.compress(b"Headline\n\nText.")[:-6],
        "letters lost.txt": "Headline\n\nThe m\ufffdyor.".encode(),
    }
    for name, data in made.items():
        (folder / name).write_bytes(data)
    (folder / "empty folder").mkdir()
    (folder / "dangling.txt").symlink_to(folder / "nowhere")
    paths = {name: folder / name for name in [*made, "empty folder", "dangling.txt"]}
    paths["not there"] = folder / "not there.txt"
    paths["nothing matches"] = folder / "*.docx"
    paths["long name"] = folder / ("x" * 5_000)
    paths["nobody's home"] = Path("~nobody-by-that-name/x.txt")
    paths["bytes"] = folder / "caf\udce9.txt"
    return paths


def test_what_cannot_be_read_is_told_with_what_to_do(cli: Cli, tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_bytes(lines([story(1)]))
    (tmp_path / "bad").mkdir()
    for name, path in bad_inputs(tmp_path / "bad").items():
        result = cli("ingest", "--json", path)
        assert result.exit_code == 1, name
        (failure,) = json.loads(result.stdout)["failed"]
        assert failure["reason"], name
        assert failure["hint"], name
    result = cli("ingest", *bad_inputs_again(tmp_path / "bad"), good)
    assert result.exit_code == 1
    assert result.stdout.startswith("1 added, 0 updated, 0 unchanged, ")
    assert "failed: " in result.stderr
    assert cli.json("check", "--json")["stories"] == 1


def bad_inputs_again(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != "huge.txt"]


STRANGE: dict[str, bytes] = {
    "lone surrogates": b'{"id": "a\\ud800", "headline": "x\\udfff", "text": "K00001 \\ud83d y"}',
    "NUL": b'{"id": "a\\u0000b", "headline": "x\\u0000", "text": "K00001 \\u0000 after"}',
    "half a pair in the file": b'{"headline": "x", "text": "K00001 \xed\xa0\x80"}',
    "astral": '{"headline": "🌉", "text": "K00001 👩‍👩‍👧‍👦 𝔅ridge"}'.encode(),
    "right to left": '{"headline": "\u202ex", "text": "K00001 \u202eegdirb"}'.encode(),
    "only combining": '{"headline": "x", "text": "\u0301K00001\u0301\u0323"}'.encode(),
    "every line break": '{"headline": "x", "text": "K00001\u2028a\u2029b\u0085c\\u000bd"}'.encode(),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_letters_are_kept_or_refused_in_words(cli: Cli, tmp_path: Path, name: str) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(STRANGE[name])
    result = cli("ingest", "--json", file)
    report = json.loads(result.stdout)
    if report["failed"]:
        assert report["failed"][0]["reason"]
        return
    assert report["added"] == 1
    hit = cli.json("search", "--json", "K00001")["hits"][0]
    shown = cli.json("stories", "show", hit["story"]["id"], "--json")
    passage = hit["passage"]
    assert shown["body"][passage["start"] : passage["end"]] == passage["text"]
    assert cli("check").exit_code == 0


def test_file_names_of_any_bytes_are_read_and_told(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "news"
    folder.mkdir()
    named = os.path.join(os.fsencode(folder), b"caf\xe9.txt")  # noqa: PTH118
    with open(named, "wb") as file:  # noqa: PTH123
        file.write(b"Bridge shut\n\nThe bridge is shut.")
    assert cli.json("ingest", "--json", folder)["added"] == 1
    assert cli.json("ingest", "--json", os.fsdecode(named))["unchanged"] == 1


def test_a_glob_takes_files_and_folders(cli: Cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "news" / name).mkdir(parents=True)
        (tmp_path / "news" / name / "s.txt").write_text(f"Story {name}\n\nText of {name}.")
    (tmp_path / "news" / "c.txt").write_text("Story c\n\nText of c.")
    assert cli.json("ingest", "--json", tmp_path / "news" / "*")["added"] == 3


def test_a_pipe_is_read(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=(lines([story(1)]),))
    writing.start()
    assert cli.json("ingest", "--json", pipe)["added"] == 1
    writing.join()


def test_a_file_that_goes_away_is_told_and_the_rest_read(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from storybot.ingest import run

    for n in (1, 2):
        (tmp_path / f"{n}.jsonl").write_bytes(lines([story(n)]))
    real = run.find_inputs

    def then_gone(names: Any) -> Any:
        found = real(names)
        (tmp_path / "1.jsonl").unlink()
        return found

    monkeypatch.setattr(run, "find_inputs", then_gone)
    result = cli("ingest", tmp_path)
    assert result.exit_code == 1
    assert "1.jsonl: cannot be read" in result.stderr
    assert result.stdout.startswith("1 added")


# Looking, deleting, checking


def test_stories_are_listed_shown_and_deleted(filled: Cli, tmp_path: Path) -> None:
    cli = Cli(copied(filled.data_dir, tmp_path / "data"))
    listed = cli("stories").stdout.splitlines()
    assert len(listed) == 6
    story_id = next(line.split()[0] for line in listed if line.endswith("ward 3"))
    shown = cli("stories", "show", story_id).stdout
    assert shown.startswith("The market of ward 3\n")
    assert "Revision 1 of 1" in shown
    assert cli("delete", story_id).stdout == f"Story {story_id} is deleted.\n"
    assert cli("stories", "show", story_id).exit_code == 2
    assert len(cli("stories").stdout.splitlines()) == 5
    assert cli("check").exit_code == 0
    assert cli.json("search", "--json", "K00003")["hits"][0]["story"]["id"] != story_id


def test_an_older_revision_can_be_shown(cli: Cli, tmp_path: Path) -> None:
    for text in ("Shut K00001.", "Open K00001."):
        (tmp_path / "s.jsonl").write_bytes(lines([story(1, text=text)]))
        cli("ingest", tmp_path / "s.jsonl")
    story_id = cli("stories").stdout.split()[0]
    assert cli.json("stories", "show", story_id, "--json")["body"] == "Open K00001."
    first = cli.json("stories", "show", story_id, "--revision", "1", "--json")
    assert (first["body"], first["revision"], first["revisions"]) == ("Shut K00001.", 1, 2)
    result = cli("stories", "show", story_id, "--revision", "3")
    assert result.exit_code == 2
    one_line(result.stderr)


def test_check_is_1_until_it_is_repaired(filled: Cli, tmp_path: Path) -> None:
    import sqlite3

    cli = Cli(copied(filled.data_dir, tmp_path / "data"))
    assert "Every passage is found" in cli("check").stdout
    with sqlite3.connect(cli.data_dir / "ledger.db") as connection:
        connection.execute("DELETE FROM vectors WHERE key = (SELECT max(key) FROM vectors)")
        connection.execute("DELETE FROM passages_fts WHERE rowid = 2")
    connection.close()
    result = cli("check")
    assert result.exit_code == 1
    assert "fault: ledger: keyword index: 1 passages missing" in result.stdout
    assert "check --repair" in result.stdout
    result = cli("check", "--repair")
    assert result.exit_code == 0
    assert "repaired: " in result.stdout
    assert cli("check").exit_code == 0


def test_settings_are_shown_with_where_they_come_from(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYBOT_TIMEZONE", "Europe/Paris")
    shown = cli("settings").stdout
    assert "STORYBOT_TIMEZONE = Europe/Paris" in shown
    values = cli.json("settings", "--json")
    assert values["timezone"] == {"value": "Europe/Paris", "origin": "environment"}
    assert values["data_dir"] == {"value": str(cli.data_dir), "origin": "flag"}
    assert values["port"]["origin"] == "default"
    assert not cli.data_dir.exists()


def test_reembed_says_what_it_did(filled: Cli, tmp_path: Path) -> None:
    from storybot.embedding import packaged_model_path

    cli = Cli(copied(filled.data_dir, tmp_path / "data"))
    model = str(packaged_model_path())
    result = cli("--embedding-model", model, "reembed")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"6 passages are embedded with {model}.\n"
    assert cli("stories").exit_code == 3
    assert cli("--embedding-model", model, "check").exit_code == 0


def test_a_taken_port_is_2_and_touches_nothing(cli: Cli) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = cli("serve", "--port", taken.getsockname()[1])
    assert result.exit_code == 2
    assert "cannot be used" in result.stderr
    one_line(result.stderr)
    assert not cli.data_dir.exists()


def test_text_a_terminal_cannot_show_is_written_out(tmp_path: Path) -> None:
    folder = tmp_path / "“Łukasz” 🌉"
    shown = subprocess.run(
        [*COMMAND, "--data-dir", folder, "settings"],
        capture_output=True,
        timeout=PATIENCE,
        env={**environment(), "PYTHONIOENCODING": "latin-1"},
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == b""
    assert rb"\u201c\u0141ukasz\u201d \U0001f309" in shown.stdout


def test_an_empty_name_is_no_folder(cli: Cli) -> None:
    result = cli("ingest", "")
    assert result.exit_code == 1
    assert "Name a file, a folder or a glob." in result.stderr
    assert "0 added" in result.stdout
