"""Settings and where each came from: flag, environment, file or default, in that order.

The file is ``storybot.toml`` in the working directory, or else in the
platform's user configuration folder.
"""

import difflib
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from storybot.errors import SettingsError

PACKAGED_MODEL = "packaged:all-MiniLM-L6-v2"
Origin = Literal["flag", "environment", "file", "default"]
_PREFIX = "STORYBOT_"


def _default_data_dir() -> Path:
    return Path(platformdirs.user_data_dir("storybot", appauthor=False))


class Settings(BaseSettings):
    """What can be set. Each field's environment variable is ``STORYBOT_`` and its name."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid", frozen=True)

    data_dir: Path = Field(
        default_factory=_default_data_dir,
        description="Folder of the collection: ledger and vectors.",
    )
    embedding_model: str = Field(
        default=PACKAGED_MODEL,
        min_length=1,
        description="A sentence-transformers model: the packaged one, a name or a path.",
    )
    llm: str | None = Field(
        default=None,
        description="A chat model as provider:model. None: answers are story sentences.",
    )
    host: str = Field(default="127.0.0.1", description="Address the site listens on.")
    port: int = Field(default=7860, ge=0, le=65535, description="Port of the site; 0 picks one.")
    timezone: str = Field(
        default="UTC", description="Zone of dates that name none, as in Europe/Paris."
    )

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return Path(os.path.abspath(value.expanduser()))

    @field_validator("llm", mode="before")
    @classmethod
    def _none_when_empty(cls, value: object) -> object:
        return None if value in ("", "none") else value

    @field_validator("llm")
    @classmethod
    def _provider_and_model(cls, value: str | None) -> str | None:
        if value is not None and not all(value.partition(":")):
            raise ValueError("give it as provider:model, for example ollama:llama3.2")
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("not a known time zone; write it as in Europe/Paris") from error
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = InitSettingsSource(settings_cls, init_kwargs=dict(_file_values()))
        return init_settings, env_settings, file

    @property
    def zone(self) -> ZoneInfo:
        """The zone of dates that name none."""
        return ZoneInfo(self.timezone)

    def fingerprint(self) -> str:
        """Twelve hex digits that change when a setting that shapes answers does."""
        shaping = {"embedding_model": self.embedding_model, "llm": self.llm, "zone": self.timezone}
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:12]


def settings_file() -> Path | None:
    """The settings file in use, or None."""
    home = Path(platformdirs.user_config_dir("storybot", appauthor=False))
    for folder in (Path.cwd(), home):
        if (path := folder / "storybot.toml").is_file():
            return path
    return None


def _file_values() -> Mapping[str, Any]:
    path = settings_file()
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be read: {error}", hint="Mend the file or move it away."
        ) from error


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name.lower(), Settings.model_fields, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def load_settings(**flags: object) -> Settings:
    """Read the settings; ``flags`` that are None count as not given.

    Raises SettingsError naming the setting and where its bad value stands.
    """
    known = {(_PREFIX + name).upper() for name in Settings.model_fields}
    for variable in os.environ:
        if variable.upper().startswith(_PREFIX) and variable.upper() not in known:
            name = variable[len(_PREFIX) :]
            raise SettingsError(
                f"{variable} is not a setting.{_nearest(name)}",
                hint="`storybot settings` lists them.",
            )
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        if first["type"] == "extra_forbidden":
            raise SettingsError(
                f"{name} in {settings_file()} is not a setting.{_nearest(name)}",
                hint="`storybot settings` lists them.",
            ) from error
        origin = _origin(name, given)
        where = {"flag": f"--{name.replace('_', '-')}", "environment": _PREFIX + name.upper()}
        raise SettingsError(
            f"{where.get(origin, f'{name} in {settings_file()}')}: {first['msg']}",
            hint=f"{name}: {Settings.model_fields[name].description}",
        ) from error


def _origin(name: str, flags: Mapping[str, object]) -> Origin:
    if flags.get(name) is not None:
        return "flag"
    if name in EnvSettingsSource(Settings)():
        return "environment"
    return "file" if name in _file_values() else "default"


def origins(**flags: object) -> dict[str, Origin]:
    """Where each setting's value comes from."""
    return {name: _origin(name, flags) for name in Settings.model_fields}
