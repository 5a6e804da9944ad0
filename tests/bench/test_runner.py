"""The benchmarks' runner: it measures the present contestants, refuses wrong results, and reports missing ones."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
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


class WrongContestant:
    """Finds nothing, and quickly."""

    def run(self, case: Case, limit_s: float) -> Figures:
        raise NotImplementedError((case, limit_s))

    def answers(self, case: Case) -> Answers:
        return Counter(dict.fromkeys([(case.events[0].t, ("<x:y>",))], 1))


def test_wrong_answers_have_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contestants._KINDS, "liar", lambda **_: WrongContestant())
    point = measured(tmp_path, CHAIN + entry("liar", "liar")).workloads[0].points[0]
    assert point.absent.startswith("liar differs from the engine")
    assert point.contestants == {}


def test_a_peer_that_differs_is_left_out_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle decides whether the engine is right."""
    monkeypatch.setitem(contestants._KINDS, "liar", lambda **_: WrongContestant())
    point = measured(tmp_path, CHAIN + entry("liar", "liar") + "peer = true\n").workloads[0].points[0]
    assert point.absent == ""
    assert point.contestants["Whorl"].median > 0
    assert point.contestants["liar"].absent.startswith("liar differs from the engine")


class Broken:
    """Fails in its own way."""

    def run(self, case: Case, limit_s: float) -> Figures:
        raise NotImplementedError((case, limit_s))

    def answers(self, case: Case) -> Answers:
        raise ZeroDivisionError(case.feed)


@pytest.mark.parametrize("kind", [lambda **_: Broken(), lambda **_: __import__("nobody_has_it")])
def test_a_peer_that_fails_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Callable[..., Broken]
) -> None:
    monkeypatch.setitem(contestants._KINDS, "broken", kind)
    point = measured(tmp_path, CHAIN + entry("broken", "broken") + "peer = true\n").workloads[0].points[0]
    assert point.contestants["Whorl"].median > 0
    assert point.contestants["broken"].absent in {"ZeroDivisionError: ntriples", "nobody_has_it is not installed"}


def test_a_peer_takes_part_in_as_many_rounds_as_it_says(tmp_path: Path) -> None:
    point = measured(tmp_path, CHAIN + entry("ox", "re-evaluation") + "rounds = 1\n").workloads[0].points[0]
    assert len(point.contestants["ox"].runs) == 1
    assert len(point.contestants["Whorl"].runs) == PLAN.rounds


def test_a_check_without_solutions_has_no_figure(tmp_path: Path) -> None:
    point = measured(tmp_path, CHAIN.replace("events = 60\nwidth = 8", "events = 2\nwidth = 8")).workloads[0].points[0]
    assert point.absent == "the check proves nothing: no solution came over 2 events"
    assert point.contestants == {}


def test_a_stream_that_ends_while_it_warms_up_is_refused(tmp_path: Path) -> None:
    text = CHAIN.replace("events = 40", "events = 40\nskip = 60").replace("[check]", "[check]\nskip = 0")
    point = measured(tmp_path, text).workloads[0].points[0]
    assert point.absent == "warm = 20, but the stream has 0 events: none is left to measure"


def test_a_contestant_is_not_asked_beyond_its_limit(tmp_path: Path) -> None:
    found = measured(tmp_path, CHAIN + entry("ox", "re-evaluation") + "limit = { width = 10 }\n")
    first, second = found.workloads[0].points
    assert first.contestants["ox"].median > 0
    assert second.contestants["ox"].absent == "not run beyond width = 10"


def test_what_a_query_costs_beyond_another_is_a_difference() -> None:
    whole = Figures(events=10, triples=10, cpu_ns=1000, wall_ns=2000)
    part = Figures(events=20, triples=20, cpu_ns=600, wall_ns=800)
    beyond = whole.beyond(part)
    assert (beyond.events, beyond.cpu_ns, beyond.wall_ns) == (10, 700, 1600)


OTHER = """SELECT ?v0 WHERE {
  STREAM <http://example.org/s0> [NOW] { ?v0 <http://example.org/p0> ?v1 }
  STREAM <http://example.org/s1> [NOW] { ?v1 <http://example.org/p1> ?v2 }
}"""


def test_the_cost_of_another_query_is_taken_off(tmp_path: Path) -> None:
    text = CHAIN.replace("[quick]", f"minus.text = '''{OTHER}'''\n[quick]")
    (one,) = measured(tmp_path, text).workloads[0].points[0].contestants.values()
    assert one.absent == ""
    assert all(run["delays"] == {} for run in one.runs)


PROGRAMS = """
title = "Programs"
metric = "ns_per_event"
source = "program"
[[points]]
label = "1"
"""
SAID = '{{"events": 10, "cpu_ns": {cpu_ns}, "wall_ns": 100, "checksum": "{checksum}"}}'


def program(name: str, script: str) -> str:
    return f'[[contestants]]\nname = "{name}"\nkind = "program"\nprogram = "sh"\nwords = ["-c", """{script}"""]\n'


def saying(checksum: str) -> str:
    # Words of a program are formats: braces are doubled, and the text is in the quotes of TOML.
    said = SAID.format(cpu_ns=50, checksum=checksum).replace("{", "{{").replace("}", "}}")
    return f"echo '{said}'"


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("2:7", "2:7", ""),
        ("2:7", "2:8", "the programs disagree on the results"),
        ("2:7", "", "the programs disagree on the results"),
        ("0:0", "0:0", "the check proves nothing"),
    ],
)
def test_programs_agree_on_the_sum_of_their_results(tmp_path: Path, first: str, second: str, reason: str) -> None:
    text = PROGRAMS + program("one", saying(first)) + program("other", saying(second))
    point = measured(tmp_path, text).workloads[0].points[0]
    assert point.absent.startswith(reason)
    assert bool(point.contestants) == (not reason)
    assert reason or point.check == {"checksum": "2:7", "programs": 2}


def test_a_peer_with_another_sum_is_left_out_alone(tmp_path: Path) -> None:
    others = program("twin", saying("2:7")) + program("peer", saying("2:8")) + "peer = true\n"
    point = measured(tmp_path, PROGRAMS + program("one", saying("2:7")) + others).workloads[0].points[0]
    assert point.check == {"checksum": "2:7", "programs": 2}
    assert point.contestants["peer"].absent == "its results add up to 2:8, ours to 2:7"
    assert point.contestants["one"].median == 5


def test_a_program_that_takes_too_long_is_left_out_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "timeout_s", 0.5)
    text = PROGRAMS + program("fast", saying("2:7")) + program("endless", "sleep 60")
    point = measured(tmp_path, text).workloads[0].points[0]
    assert point.contestants["fast"].median == 5
    assert point.contestants["endless"].absent == "stopped after 0.5 s"


@pytest.mark.parametrize(("script", "reason"), [("echo no", "said no JSON"), ("echo {{}}", "said nothing of checksum")])
def test_a_program_that_says_something_else_is_left_out(tmp_path: Path, script: str, reason: str) -> None:
    point = measured(tmp_path, PROGRAMS + program("odd", script)).workloads[0].points[0]
    assert reason in point.contestants["odd"].absent


class Missing:
    """Needs something that is missing."""

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
