"""`whorl bench` as a command: what it lists, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result
from whorl.cli import bench

Whorl = Callable[..., Result]


def test_workloads_are_listed_with_paper_and_figure(whorl: Whorl) -> None:
    shown = whorl("bench", "--list").stdout
    assert "cqels2011-table2" in shown
    assert "003      Table 2" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-workload"], "there is no workload 'no-such-workload'"),
        (["--compare", "nowhere.json", "nowhere.json"], "nowhere.json holds no results"),
        (["--from", "nowhere.json"], "--from needs --report"),
    ],
    ids=["name", "results", "page"],
)
def test_wrong_use_is_named(whorl: Whorl, words: list[str], message: str) -> None:
    result = whorl("bench", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_installed_package_says_where_benchmarks_are(
    whorl: Whorl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "_BENCHMARKS", tmp_path)
    result = whorl("bench", "--list")
    assert result.exit_code == 1
    assert "run `whorl bench` from a checkout" in result.stderr
