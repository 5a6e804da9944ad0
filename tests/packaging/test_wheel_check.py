"""What `make wheel-test` says of wheels that lack something, or have too much."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from wheel_check import CONSOLE, check_console, console_faults, contents_faults, package_files

PAGE = '<script type="module" src="./assets/index-1.js"></script><link href="./assets/index-1.css">'
BUILT = {
    "index.html": PAGE,
    "docs.html": PAGE,
    "assets/index-1.js": "x",
    "assets/index-1.css": "x",
    "assets/swagger-ui-5.js": "x",
}


def packed(tmp_path: Path, console: dict[str, str], *, more: dict[str, str] | None = None) -> Path:
    """A wheel with every file of the package, empty, and with this console."""
    wheel = tmp_path / "whorl-0-cp311-abi3-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in [*package_files(), "whorl/_engine.abi3.so", "whorl-0.dist-info/licenses/LICENSE"]:
            archive.writestr(name, "")
        extras = "".join(f"Provides-Extra: {name}\n" for name in ("arrow", "dev", "pandas", "spark"))
        archive.writestr("whorl-0.dist-info/METADATA", f"Name: whorl\n{extras}")
        for name, text in {**{CONSOLE + name: text for name, text in console.items()}, **(more or {})}.items():
            archive.writestr(name, text)
    return wheel


def test_the_built_console_is_no_fault_although_git_ignores_it(tmp_path: Path) -> None:
    assert contents_faults(packed(tmp_path, BUILT)) == []


def test_a_wheel_without_the_console_is_faulty(tmp_path: Path) -> None:
    faults = contents_faults(packed(tmp_path, {}))
    assert faults == [f"{CONSOLE}{page} is not in the wheel" for page in ("index.html", "docs.html")]


def test_a_page_that_names_an_absent_file_is_faulty(tmp_path: Path) -> None:
    less = {name: text for name, text in BUILT.items() if name != "assets/index-1.css"}
    assert "index.html names assets/index-1.css, which is not in the wheel" in console_faults(packed(tmp_path, less))


def test_files_that_are_no_part_of_the_package_or_the_console_are_faults(tmp_path: Path) -> None:
    wheel = packed(tmp_path, {**BUILT, "notes.txt": "x"}, more={"whorl/secret.txt": "x"})
    assert contents_faults(wheel) == [
        "whorl/secret.txt is in the wheel and not in the repository",
        f"{CONSOLE}notes.txt is no part of the console",
    ]


def test_a_server_with_the_plain_page_does_not_pass_for_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheel_check.fetched", lambda url: b"<h1>plain</h1>")  # noqa: ARG005 - the address is the same
    with pytest.raises(SystemExit, match="is not the console"):
        check_console("http://127.0.0.1:1/")
