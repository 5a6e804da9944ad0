"""The modules of the engine import only from modules above them in ARCHITECTURE.md.

Detects: paths that begin with `crate::`, in `use` and in expressions, tests included, and `use super::…` that leaves a
module for the crate root. A name that `lib.rs` re-exports counts as the module it comes from. Does not detect: a path
that a macro builds, or `super::` inside an inline module.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "engine-rs/src"
FILES = sorted(path for path in SOURCES.rglob("*.rs") if path != SOURCES / "lib.rs")

_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
_COMMENT = re.compile(r"//.*$", re.MULTILINE)
_PATH = re.compile(r"\bcrate::(\w+|\{)")
_SUPER = re.compile(r"^(?:pub(?:\([^)]*\))? )?use ((?:super::)+)(\w+|\{)", re.MULTILINE)
_RE_EXPORT = re.compile(r"^pub use (\w+)::(?:(\w+)|\{([^}]*)\});", re.MULTILINE)


def listed_modules() -> list[str]:
    """The modules as ARCHITECTURE.md lists them: each may import from those before it."""
    _, _, section = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Modules of the engine\n")
    return _ROW.findall(section.partition("\n## ")[0])


def re_exports() -> dict[str, str]:
    """Names that `lib.rs` gives to users, and the modules that they come from."""
    found = _RE_EXPORT.findall((SOURCES / "lib.rs").read_text())
    return {name.strip(): module for module, one, many in found for name in [one, *many.split(",")] if name.strip()}


def module_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].removesuffix(".rs")


def depth_of(path: Path) -> int:
    """How many `super::` lead from a file to the crate root."""
    parts = path.relative_to(SOURCES).parts
    return len(parts) - (parts[-1] == "mod.rs")


def names_from_the_root(source: str, depth: int) -> set[str]:
    """The first names of all paths that begin at the crate root."""
    code = _COMMENT.sub("", source)
    above = (found for found in _SUPER.finditer(code) if found[1].count("super") == depth)
    places = chain(_PATH.finditer(code), above)
    return {name for found in places for name in _first_names(code, found.start(found.lastindex or 0))}


def _first_names(code: str, at: int) -> list[str]:
    """The name at a place; or of a group in braces, the first name of each of its members."""
    if code[at] != "{":
        return re.findall(r"\w+", code[at:])[:1]
    level, names, is_first = 0, [], False
    for token in re.findall(r"[{},]|\w+", code[at:]):
        level += (token == "{") - (token == "}")
        if level == 0:
            break
        if level == 1 and is_first and token.isidentifier():
            names.append(token)
        is_first = level == 1 and token in "{,"
    return names


def imported_modules(path: Path) -> set[str]:
    origins = re_exports()
    return {origins.get(name, name) for name in names_from_the_root(path.read_text(), depth_of(path))}


def test_the_table_lists_every_module_once() -> None:
    present = {module_of(path) for path in FILES}
    assert sorted(listed_modules()) == sorted(present)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_a_file_imports_only_from_its_own_module_and_those_above(path: Path) -> None:
    order = listed_modules()
    allowed = set(order[: order.index(module_of(path)) + 1])
    assert imported_modules(path) - allowed == set()


@pytest.mark.parametrize(
    ("source", "depth", "expected"),
    [
        ("use crate::plan::Plan;", 2, {"plan"}),
        ("    let id = crate::encode::ids(crate::model::NONE);", 2, {"encode", "model"}),
        ("use crate::{\n    model::{TermId, Row},\n    time::Span, Engine,\n};", 2, {"model", "time", "Engine"}),
        ("pub(crate) use super::flow::Flow;", 1, {"flow"}),
        ("use super::{flow::Flow, time};", 1, {"flow", "time"}),
        ("use super::flow::Flow;", 2, set()),
        ("// use crate::engine::Engine;", 1, set()),
    ],
)
def test_paths_are_found_however_they_are_written(source: str, depth: int, expected: set[str]) -> None:
    assert names_from_the_root(source, depth) == expected
