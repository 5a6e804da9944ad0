"""The benchmarks' runner: it measures whom it can, refuses wrong answers, and says what is missing."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from whorl_bench import contestants, report, results
from whorl_bench.case import AbsentError, Case
from whorl_bench.contestants import Answers
from whorl_bench.figures import Figures
from whorl_bench.isolate import RunError, isolated
from whorl_bench.results import Results
from whorl_bench.runner import Plan, run
from whorl_bench.workload import Workload, WorkloadError, read

CHAIN = """
title = "A join of two streams"
metric = "us_per_event"
axis = "width"
source = "chain"
paper = "003"
figure = "Fig. 0"
shape = "flat"
[parameters]
ways = 2
options = { semantics = "set" }
[quick]
events = 40
[check]
events = 60
width = 8
[[contestants]]
name = "Whorl"
kind = "whorl"
[[points]]
label = "10"
width = 10
paper = { CQELS = 100.0 }
[[points]]
label = "20"
width = 20
[[points]]
label = "1M"
width = 1_000_000
only = "full"
"""
PLAN = Plan("quick", rounds=2, limit_s=0.2)


def workload(directory: Path, text: str) -> Workload:
    path = directory / "tiny.toml"
    path.write_text(text)
    return read(path)


def entry(name: str, kind: str, **settings: str) -> str:
    return f'[[contestants]]\nname = "{name}"\nkind = "{kind}"\n' + "".join(
        f'{key} = "{value}"\n' for key, value in settings.items()
    )


def measured(directory: Path, text: str) -> Results:
    return run([workload(directory, text)], PLAN, lambda _: None)


def test_everybody_is_measured_and_agrees(tmp_path: Path) -> None:
    others = entry("ox", "re-evaluation") + entry("rdf", "re-evaluation", library="rdflib") + entry("delta", "delta")
    found = measured(tmp_path, CHAIN + others)
    first, second = found.workloads[0].points
    assert (first.label, second.label) == ("10", "20")
    assert set(first.contestants) == {"Whorl", "ox", "rdf", "delta"}
    for one in first.contestants.values():
        assert one.absent == ""
        assert len(one.runs) == PLAN.rounds
        assert 0 < one.least <= one.median <= one.most
    assert first.check["solutions"] > 0


@pytest.mark.parametrize("feed", ["ntriples", "nquads", "arrow"])
def test_every_way_to_hand_events_over_gives_the_same_results(tmp_path: Path, feed: str) -> None:
    text = CHAIN.replace("ways = 2", f'ways = 2\nfeed = "{feed}"\nbatch = 7\nwarm = 0')
    found = measured(tmp_path, text)
    (one,) = found.workloads[0].points[0].contestants.values()
    assert one.absent == ""
    assert {(run["events"], run["results"]) for run in one.runs} == {(40, 15)}


class Liar:
    """Finds nothing, fast."""

    def run(self, case: Case, limit_s: float) -> Figures:
        raise NotImplementedError((case, limit_s))

    def answers(self, case: Case) -> Answers:
        return Counter(dict.fromkeys([(case.events[0].t, ("<x:y>",))], 1))


def test_wrong_answers_have_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contestants._KINDS, "liar", lambda **_: Liar())
    point = measured(tmp_path, CHAIN + entry("liar", "liar")).workloads[0].points[0]
    assert point.absent.startswith("liar differs from the engine")
    assert point.contestants == {}


class Missing:
    """Needs something that is not here."""

    def run(self, case: Case, limit_s: float) -> Figures:
        raise AbsentError(f"nobody has it: {case.feed} {limit_s}")

    def answers(self, case: Case) -> Answers:
        raise AbsentError(f"nobody has it: {case.feed}")


def test_who_is_absent_says_why_and_the_others_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contestants._KINDS, "missing", lambda **_: Missing())
    point = measured(tmp_path, CHAIN + entry("missing", "missing")).workloads[0].points[0]
    assert "nobody has it" in point.contestants["missing"].absent
    assert point.contestants["Whorl"].median > 0


def test_missing_data_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_TEST_DATA", str(tmp_path / "nowhere"))
    text = CHAIN.replace('source = "chain"', 'source = "conference"').replace(
        "ways = 2", 'query = "conference/q1.cqels"'
    )
    point = measured(tmp_path, text).workloads[0].points[0]
    assert "WHORL_TEST_DATA" in point.absent


def test_results_and_report_survive_the_file(tmp_path: Path) -> None:
    found = measured(tmp_path, CHAIN)
    results.write(found, tmp_path / "results.json")
    again = results.read(tmp_path / "results.json")
    assert again == found
    report.write(again, [workload(tmp_path, CHAIN)], tmp_path / "performance.md")
    page = (tmp_path / "performance.md").read_text()
    assert "| 003 | Fig. 0 |" in page
    assert "`whorl bench tiny`" in page
    assert "paper" in page
    drawing = ET.fromstring((tmp_path / "performance" / "tiny.svg").read_text())  # noqa: S314 - our own
    assert len(drawing.findall("{http://www.w3.org/2000/svg}polyline")) == 2


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(results.ResultsError, match="holds no results"):
        results.read(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [('title = "A join of two streams"\n', "", "'title' is missing"), ("title", "titel", "unknown keys: titel")],
)
def test_a_wrong_workload_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        workload(tmp_path, CHAIN.replace(old, new, 1))


def test_a_run_that_dies_is_one_failed_run() -> None:
    with pytest.raises(RunError, match="signal 9"):
        isolated(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(RunError, match="ZeroDivisionError"):
        isolated(lambda: 1 / 0)
    assert isolated(lambda: 6 * 7) == 42
