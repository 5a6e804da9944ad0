"""Other engines as separate programs: their input, their output, and that each can be built."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from whorl_bench.case import AbsentError
from whorl_bench.contestants.delta import DeltaQueries
from whorl_bench.contestants.outside import Outside
from whorl_bench.isolate import RunError
from whorl_bench.programs import BENCHMARKS, ROOT
from whorl_bench.sources import case_of
from whorl_bench.workload import Entry, all_workloads

# A peer for two windows that stores its input.
PEER = """
import json, sys
words = dict(word.split("=", 1) for word in sys.argv[1:])
rows, lines, events, results, is_measured = {}, [], 0, 0, "answers" in words
for line in open(words["file"]):
    sign, *parts = line.rstrip("\\n").split("\\t")
    if sign == "=":
        is_measured, events, results = True, 0, 0
    elif sign == "@":
        at, events = parts[0], events + int(parts[1])
    else:
        window, s, _, o = parts
        place = int(window[-1])
        if sign == "-":
            rows[place].remove((s, o))
            continue
        rows.setdefault(place, []).append((s, o))
        found = [(s, o, z) for y, z in rows.get(1, ()) if y == o] if place == 0 else [
            (x, y, o) for x, y in rows.get(0, ()) if y == s]
        results += len(found)
        lines += ["\\t".join((at, *row)) + "\\n" for row in found]
if "answers" in words:
    open(words["answers"], "w").writelines(lines)
assert "GRAPH <urn:w1>" in open(words["query"]).read()
print(json.dumps({"events": events, "cpu_ns": 1000, "wall_ns": 2000, "results": results}))
"""
CHAIN = {"ways": 2, "width": 12, "events": 120, "options": {"semantics": "set"}}


def peer(directory: Path, text: str = PEER) -> Outside:
    path = directory / "peer.py"
    path.write_text(text)
    return Outside(sys.executable, [str(path)])


def test_a_peer_is_told_what_comes_and_goes_and_its_answers_are_read(tmp_path: Path) -> None:
    case = case_of("chain", {**CHAIN, "warm": 0})
    found = peer(tmp_path).answers(case)
    assert found.total() > 0
    assert found == DeltaQueries().answers(case)


def test_what_fills_the_windows_is_not_measured(tmp_path: Path) -> None:
    figures = peer(tmp_path).run(case_of("chain", CHAIN), 1)
    assert (figures.events, figures.triples, figures.cpu_ns, figures.wall_ns) == (120, 120, 1000, 2000)
    assert figures.results > 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [("print('{}')", "said nothing of cpu_ns"), ("raise SystemExit('no')", "no"), ("", "said nothing")],
)
def test_a_peer_that_fails_says_why(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(RunError, match=reason):
        peer(tmp_path, text).run(case_of("chain", CHAIN), 1)


def test_a_peer_that_was_not_built_is_absent_and_says_how_to_build_it() -> None:
    missing = Outside("peers/rust/target/release/nobody", build="make bench-peers")
    with pytest.raises(AbsentError, match="nobody is absent; build it with: make bench-peers"):
        missing.answers(case_of("chain", CHAIN))


# ---- the adapters of the repository ----

PEERS = BENCHMARKS / "peers"
ENTRIES = {
    entry.name: entry
    for workload in all_workloads()
    for entry in workload.contestants
    if entry.kind == "outside" or (entry.is_peer and entry.settings.get("program") == "java")
}


def test_the_peers_are_those_that_can_be_had() -> None:
    assert set(ENTRIES) == {"Esper 9", "differential-dataflow", "Flink", "Pathway", "re-evaluation (Jena)", "rsp-rs"}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda one: one.name)
def test_every_peer_has_its_source_and_is_built_by_one_command(entry: Entry) -> None:
    """A cheap check: nothing is built or downloaded."""
    assert entry.settings["build"] == "make bench-peers"
    assert (BENCHMARKS / _source(entry)).exists()


def _source(entry: Entry) -> str:
    """What the program of an entry is made of."""
    program, words = entry.settings["program"], entry.settings.get("words", [])
    if program == "java":
        jar = next(word for word in words if word.endswith(".jar")).removeprefix("{benchmarks}/")
        module = jar.removesuffix("/target/peer.jar")
        assert ET.parse(PEERS / "java/pom.xml").find(f".//{{*}}module[.='{Path(module).name}']") is not None  # noqa: S314 - our own
        main = ET.parse(BENCHMARKS / module / "pom.xml").findtext(".//{*}peer")  # noqa: S314 - our own
        assert main is not None
        return f"{module}/src/main/java/{main.replace('.', '/')}.java"
    if "/rust/" in program:
        package = Path(program).name.removeprefix("whorl-peers-")
        assert package in tomllib.loads((PEERS / "rust/Cargo.toml").read_text())["workspace"]["members"]
        assert f"-p {Path(program).name}" in (ROOT / "Makefile").read_text()
        return f"peers/rust/{package}/src/main.rs"
    (script,) = words
    return str(script).removeprefix("{benchmarks}/")


def test_versions_of_peers_are_fixed() -> None:
    """Another version is another figure."""
    pinned = re.compile(r"\w[\w-]*==[\d.]+$")
    lines = [line for line in (PEERS / "python/requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(pinned.match(line) for line in lines)
    assert (PEERS / "rust/Cargo.lock").exists()
    for pom in PEERS.glob("java/*/pom.xml"):
        versions = [found.text for found in ET.parse(pom).iterfind(".//{*}dependency/{*}version")]  # noqa: S314 - our own
        assert all(version == "${project.version}" or re.fullmatch(r"[\d.]+", str(version)) for version in versions)


def test_the_lock_of_the_project_knows_no_peer() -> None:
    lock = (ROOT / "Cargo.lock").read_text()
    assert not re.search(r'name = "(differential-dataflow|timely|rsp-rs|oxrocksdb-sys)"', lock)
