"""Other engines as separate programs, which read the events from a file and print their results.

The file has a line for each thing, its parts separated by tabs:

    @ T 1          an event at the instant T; 0 instead of 1 for expiries without an event
    + NAME S P O   a triple arrives, terms as N-Triples
    - NAME S P O   a triple expires
    =              the start of the measurement

With `feed = "events"` NAME is the stream, nothing expires, and the program has its own windows. With `feed = "changes"`
the windows are kept here: NAME is the window, and the file has arrivals and expiries. The program reads and encodes
everything before its clock starts. It takes `key=value` arguments: `file`, `query`, a file with the text, `limit_s`,
and for the check `answers`, the file that gets a line `T TERM TERM …` for every new solution. It prints one line of
JSON with `events`, `cpu_ns`, `wall_ns`, `results` and optionally `rss_bytes`; processor time is that of all its
threads.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from whorl_oracle.model import Triple
from whorl_workloads.plain import translate

from whorl_bench.case import AbsentError, Case
from whorl_bench.contestants import Answers
from whorl_bench.contestants.windows import Contents
from whorl_bench.figures import Figures
from whorl_bench.programs import Program

# An engine may be slow to start, and to fill its windows.
_TIMEOUT_S = 60.0


class Outside:
    """An engine that is a separate program, and its arguments."""

    def __init__(
        self, program: str, words: Sequence[str] = (), build: str = "", feed: Literal["events", "changes"] = "changes"
    ) -> None:
        self._program = Program(program, words, build)
        self._feed = feed

    def run(self, case: Case, limit_s: float) -> Figures:
        """Measure the events after the warm-up."""
        with tempfile.TemporaryDirectory() as place:
            said = self._said(case, Path(place), limit_s=limit_s)
        events = int(said["events"])
        return Figures(
            events=events,
            triples=sum(len(event.triples) for event in case.measured[:events]),
            cpu_ns=said["cpu_ns"],
            wall_ns=said["wall_ns"],
            rss_bytes=said.get("rss_bytes", 0),
            results=said["results"],
        )

    def answers(self, case: Case) -> Answers:
        """All new solutions."""
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "answers"
            self._said(case, Path(place), limit_s=_TIMEOUT_S, answers=path)
            return Counter(_solution(line) for line in path.read_text(encoding="utf-8").splitlines())

    def _said(self, case: Case, place: Path, **words: float | Path) -> dict[str, Any]:
        if case.static or len(case.queries) != 1:
            raise AbsentError("its adapter takes one query, without static data")
        (query,) = case.queries
        plain = translate(query.text, query.dialect, bag=False)
        is_fed_events = self._feed == "events"
        lines = _events(case) if is_fed_events else _changes(case, Contents(plain.windows))
        (place / "file").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (place / "query").write_text(query.text if is_fed_events else plain.text, encoding="utf-8")
        given = {"file": place / "file", "query": place / "query", **words}
        return self._program.said(given, _TIMEOUT_S, needed=("events", "cpu_ns", "wall_ns", "results"))


def _solution(line: str) -> tuple[int, tuple[str | None, ...]]:
    at, *terms = line.split("\t")
    return int(at), tuple(term or None for term in terms)


def _events(case: Case) -> Iterator[str]:
    for number, event in enumerate(case.events):
        if number == case.warm:
            yield "="
        yield f"@\t{event.t}\t1"
        yield from _placed("+", ((event.stream, triple) for triple in event.triples))


def _changes(case: Case, contents: Contents) -> Iterator[str]:
    for number, event in enumerate(case.events):
        if number == case.warm:
            yield "="
        for change in contents.changes(event):
            yield f"@\t{change.at}\t{int(change.at == event.t)}"
            yield from _placed("-", change.went)
            yield from _placed("+", change.came)


def _placed(sign: str, triples: Iterable[tuple[str, Triple]]) -> Iterator[str]:
    for name, triple in triples:
        yield "\t".join((sign, name, *triple))
