"""Settings say where they come from, and a wrong one says what is right."""

from pathlib import Path

import pytest

from storybot.errors import SettingsError
from storybot.settings import Settings, load_settings, origins


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "storybot.toml").write_text(text, encoding="utf-8")


def test_defaults_need_nothing(here: Path) -> None:
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert settings.llm is None
    assert settings.data_dir.is_absolute()
    assert set(origins().values()) == {"default"}
    assert list(here.iterdir()) == []


def test_a_flag_goes_before_the_environment_before_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, 'port = 1111\nhost = "::1"\ntimezone = "Europe/Paris"\n')
    monkeypatch.setenv("STORYBOT_PORT", "2222")
    monkeypatch.setenv("STORYBOT_HOST", "localhost")
    settings = load_settings(port=3333)
    assert (settings.port, settings.host, settings.timezone) == (3333, "localhost", "Europe/Paris")
    assert origins(port=3333) == {
        "data_dir": "default",
        "embedding_model": "default",
        "llm": "default",
        "host": "environment",
        "port": "flag",
        "timezone": "file",
    }


def test_the_users_file_counts_when_there_is_none_here(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "config"))
    (here / "config" / "storybot").mkdir(parents=True)
    write(here / "config" / "storybot", "port = 4444\n")
    assert load_settings().port == 4444
    write(here, "port = 5555\n")
    assert load_settings().port == 5555


def test_an_unknown_variable_is_refused_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STORYBOT_DATADIR", "/tmp/x")
    with pytest.raises(SettingsError, match=r"STORYBOT_DATADIR .*Did you mean data_dir\?"):
        load_settings()


def test_an_unknown_name_in_the_file_is_refused_with_the_nearest(here: Path) -> None:
    write(here, "ports = 1\n")
    with pytest.raises(SettingsError, match=r"ports in .*storybot\.toml.*Did you mean port\?"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "-1"),
        ("PORT", "65536"),
        ("PORT", "http"),
        ("TIMEZONE", "Mars/Olympus"),
        ("TIMEZONE", "../etc/passwd"),
        ("LLM", "gpt"),
        ("LLM", "openai:"),
        ("EMBEDDING_MODEL", ""),
    ],
)
def test_a_value_out_of_bounds_names_its_variable(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"STORYBOT_{name}", value)
    with pytest.raises(SettingsError, match=f"STORYBOT_{name}: ") as raised:
        load_settings()
    assert raised.value.hint.startswith(name.lower())


def test_a_bad_value_names_the_flag_or_the_file_it_stands_in(here: Path) -> None:
    with pytest.raises(SettingsError, match=r"^--port: "):
        load_settings(port=70_000)
    write(here, "port = 70000\n")
    with pytest.raises(SettingsError, match=r"port in .*storybot\.toml: "):
        load_settings()


@pytest.mark.parametrize("text", ["port = ", "port 1", "\x00", "[port]\nx = 1\n"])
def test_a_bad_file_is_named(here: Path, text: str) -> None:
    write(here, text)
    with pytest.raises(SettingsError, match=r"storybot\.toml"):
        load_settings()


def test_a_file_that_is_not_text_is_named(here: Path) -> None:
    (here / "storybot.toml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(SettingsError, match=r"storybot\.toml"):
        load_settings()


@pytest.mark.parametrize("value", ["", "none"])
def test_no_chat_model_can_be_said(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYBOT_LLM", value)
    assert load_settings().llm is None


def test_a_home_folder_is_expanded_and_a_relative_one_made_absolute(here: Path) -> None:
    assert load_settings(data_dir="~/news").data_dir == Path.home() / "news"
    assert load_settings(data_dir="news/../x").data_dir == here / "x"


def test_the_fingerprint_follows_what_shapes_answers() -> None:
    one = load_settings().fingerprint()
    assert load_settings(port=1, host="::1").fingerprint() == one
    assert load_settings(timezone="Europe/Paris").fingerprint() != one
    assert load_settings(llm="ollama:llama3.2").fingerprint() != one


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(Exception, match="frozen"):
        Settings().port = 1  # type: ignore[misc]
