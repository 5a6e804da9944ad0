"""The page of the settings lists what there is, with the defaults that there are."""

from __future__ import annotations

import re
from pathlib import Path

from whorl.server.settings import MIB, Settings

PAGE = Path(__file__).parents[2] / "docs/reference/settings.md"
_ROW = re.compile(r"^\| `WHORL_([A-Z_]+)` \| (\S.*?) \| (\S.*?) \|$", re.MULTILINE)


def test_every_setting_is_listed_once_with_its_default() -> None:
    listed = [(name.lower(), default) for name, default, _ in _ROW.findall(PAGE.read_text())]
    expected = {name: _shown(field.default) for name, field in Settings.model_fields.items()}
    assert len(listed) == len(dict(listed))
    assert dict(listed) == expected


def _shown(default: object) -> str:
    """A default as the page writes it."""
    if default is None or default == ():
        return "–"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, int) and default % MIB == 0 and default > 0:
        return f"`{default // MIB} MiB`"
    if isinstance(default, int) and default % 1024 == 0 and default > 0:
        return f"`{default // 1024} KiB`"
    return f"`{default}`"
