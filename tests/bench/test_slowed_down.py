"""A build that has become slower is caught by the comparison, by counted work: on any machine, at any load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from whorl_bench import compare, main, results, sources
from whorl_bench.case import Case, QueryText
from whorl_bench.results import Results
from whorl_bench.runner import Plan, run
from whorl_bench.sources import chains
from whorl_bench.workload import Parameters, read

QUERIES = 8
WORKLOAD = """
title = "Queries over the same windows"
metric = "us_per_event"
source = "chain-many"
[parameters]
ways = 2
options = { semantics = "set" }
[quick]
events = 100
width = 40
[check]
events = 100
width = 8
[[contestants]]
name = "Whorl"
kind = "whorl"
engine = {}
[[points]]
label = "1"
"""
# Options that make the engine do avoidable work: each acts like a build that has become slower.
SLOWED_DOWN = ["{ sharing = false }", '{ evaluation = "reevaluate" }']
# Nothing is cut off by the time it takes.
PLAN = Plan("quick", rounds=2, limit_s=3600)


def many(parameters: Parameters) -> Case:
    """Queries that differ in the names of their variables only."""
    case = chains.chain(parameters)
    (query,) = case.queries
    texts = [query.text.replace("?v", f"?v{number}_") for number in range(QUERIES)]
    return replace(case, queries=[QueryText(text, query.dialect) for text in texts])


def measured(directory: Path, engine: str) -> Results:
    path = directory / "many.toml"
    path.write_text(WORKLOAD.replace("engine = {}", f"engine = {engine}"))
    return run([read(path)], PLAN, lambda _: None)


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.setitem(sources.SOURCES, "chain-many", many)
    return measured(tmp_path, "{}")


def verdicts(old: Results, new: Results) -> dict[str, str]:
    """Of counted work alone."""
    return {change.counted: change.verdict for change in compare.compare(old, new) if change.counted}


@pytest.mark.parametrize("engine", SLOWED_DOWN)
def test_a_slowed_down_build_is_caught(usual: Results, tmp_path: Path, engine: str) -> None:
    found = verdicts(usual, measured(tmp_path, engine))
    assert "slower" in found.values(), found


def test_the_same_build_is_not(usual: Results, tmp_path: Path) -> None:
    assert verdicts(usual, measured(tmp_path, "{}")) == {"visits per event": "same", "mappings kept": "same"}


def test_the_command_says_so(usual: Results, tmp_path: Path) -> None:
    results.write(usual, tmp_path / "old.json")
    results.write(measured(tmp_path, SLOWED_DOWN[0]), tmp_path / "new.json")
    table, is_slower = main.compared(tmp_path / "old.json", tmp_path / "new.json")
    assert is_slower
    assert "slower   many, 1: Whorl, visits per event" in table
