"""Settings from a file, the environment and options: options win over variables, variables over the file.

The file is TOML with one line for each setting, by the names of `Settings`: `port = 9000`. It is read only if it is
named, by `--config` or by WHORL_CONFIG.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from whorl.server.settings import Settings, check_names

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG = "WHORL_CONFIG"


class ConfigError(ValueError):
    """A setting is wrong; the message says which, and where it was set."""


def load_settings(given: Mapping[str, Any], config: Path | None = None) -> Settings:
    """The settings of a server; `given` are options of the command line."""
    check_names(os.environ)
    path = config_path(config)
    said = {} if path is None else read_config(path)
    variables = {name.upper() for name in os.environ}
    rest = {name: value for name, value in said.items() if f"WHORL_{name.upper()}" not in variables}
    try:
        return Settings(**{**rest, **given})
    except ValidationError as error:
        raise ConfigError(_fault(error, given, rest, path)) from None


def config_path(config: Path | None = None) -> Path | None:
    """The file to read, if one is named."""
    named = config or os.environ.get(CONFIG)
    return None if not named else Path(named)


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a file; unknown names are refused."""
    said = _parsed(path)
    for name, value in said.items():
        if isinstance(value, dict):
            raise ConfigError(f"{path}: tables are not supported; move the settings in [{name}] to the top level")
        if name not in Settings.model_fields:
            near = difflib.get_close_matches(name.replace("-", "_"), Settings.model_fields, 1)
            raise ConfigError(f"{path}: there is no setting {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return said


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the settings in {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _fault(error: ValidationError, given: Mapping[str, Any], said: Mapping[str, Any], path: Path | None) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    message = str(first["msg"])
    return f"{_spelled(name, given, said, path)}: {message[:1].lower()}{message[1:]}"


def _spelled(name: str, given: Mapping[str, Any], said: Mapping[str, Any], path: Path | None) -> str:
    if name in given:
        return f"--{name.replace('_', '-')}"
    return f"{path}: {name}" if name in said else f"WHORL_{name.upper()}"
