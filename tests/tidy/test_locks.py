"""`make run` installs a part of what `make setup` installs, in the same versions, and nothing that only tests need."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def pinned(lock: str) -> set[str]:
    lines = (ROOT / lock).read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def test_what_is_run_is_what_is_tested() -> None:
    assert pinned("requirements-run.lock") < pinned("requirements-dev.lock")


def test_no_tool_of_the_tests_is_installed_to_run() -> None:
    names = {line.partition("==")[0] for line in pinned("requirements-run.lock")}
    assert names & {"pyspark", "pytest", "mypy", "pandas", "playwright", "sphinx", "hypothesis", "pyarrow"} == set()
    assert {"fastapi", "uvicorn", "httpx", "websockets", "maturin"} <= names
