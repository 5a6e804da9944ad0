"""Run the queries of a benchmark scenario on its public data, in this process, and print what they find.

    python examples/run.py srbench              every query of the scenario
    python examples/run.py srbench/q3.rspql     one of them, with its rows
    python examples/run.py --list               the scenarios

The data sets are public, but not part of this repository: WHORL_TEST_DATA names the folder that holds them. What loads
them is in tests/workloads, which shows how the tables of the benchmarks become RDF.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from whorl import Engine, WhorlError

EXAMPLES = Path(__file__).resolve().parent
sys.path[:0] = [str(EXAMPLES.parent / "tests" / folder) for folder in ("workloads", "oracle", "common")]

from whorl_workloads import citybench, conference, csrbench, debs2015, lsbench, lubm, snb, srbench, taxi  # noqa: E402 - the path is set above
from whorl_workloads.data import DataMissingError, Event, Static, in_order, ntriples  # noqa: E402 - the path is set above

_Dialect: TypeAlias = Literal["rspql", "csparql", "cqels"]
_DIALECTS: dict[str, _Dialect] = {".rspql": "rspql", ".csparql": "csparql", ".cqels": "cqels"}
_DAY, _CITY_DAY = "2010-02-02T", "2014-08-01T"
_PARKING = ["AarhusParkingDataKALKVAERKSVEJ", "AarhusParkingDataSKOLEBAKKEN"]
_ROADS_AND_AIR = [
    *(f"AarhusTrafficData{number}" for number in (182955, 158505, 186979)),
    *(f"AarhusPollutionData{number}" for number in (201399, 197626, 158505, 206502)),
    "AarhusWeatherData0",
]
_ROWS_SHOWN = 5

T = TypeVar("T")
Load = Callable[[], list[Event]]


@dataclass(frozen=True)
class Scenario:
    """What a scenario is about, and its events; some queries read others than the rest."""

    about: str
    events: Load
    static: Callable[[], Static] = dict
    others: Mapping[str, Load] = field(default_factory=dict)

    def load(self, query: str) -> list[Event]:
        """The events that a query reads."""
        events: list[Event] = _loaded(self.others.get(query, self.events))
        return events


@functools.cache
def _loaded(load: Callable[[], T]) -> T:
    """The data of a loader, which several queries read."""
    return load()


def _posts(until: str = "08:00:00") -> list[Event]:
    return lsbench.posts(f"{_DAY}00:00:00", _DAY + until, lsbench.Likes(_DAY + until))


def _photos() -> list[Event]:
    return lsbench.photos(f"{_DAY}02:00:00", f"{_DAY}02:20:00", lsbench.Likes(f"{_DAY}02:20:00"))


def _positions() -> list[Event]:
    until = f"{_DAY}06:20:00"
    taken = lsbench.photos(f"{_DAY}00:49:00", f"{_DAY}00:50:00", lsbench.Likes(until, pace_ms=1_200_000))
    return in_order([*taken, *lsbench.positions(f"{_DAY}05:30:00", until, 80)])


def _parking() -> list[Event]:
    return citybench.events(_PARKING, f"{_CITY_DAY}00:00:00", f"{_CITY_DAY}12:00:00")


def _user() -> list[Event]:
    parked = citybench.events(_PARKING[:1], f"{_CITY_DAY}08:00:00", f"{_CITY_DAY}12:00:00")
    return in_order([*parked, *citybench.user_events(f"{_CITY_DAY}08:00:00", 60_000, 150)])


def _station() -> list[Event]:
    return srbench.events_of_station("HP001", 480)


SCENARIOS = {
    "csrbench": Scenario("weather observations, one graph per second", csrbench.events),
    "conference": Scenario("people seen in a building", lambda: conference.events(480), conference.static),
    "srbench": Scenario(
        "weather stations in 2004",
        lambda: srbench.events_2004(18),
        srbench.static,
        dict.fromkeys(("q1", "q2", "q8", "q9"), _station),
    ),
    "lsbench": Scenario(
        "a social network",
        _posts,
        lsbench.static,
        {
            **dict.fromkeys(("q5", "q8"), _photos),
            **dict.fromkeys(("q6", "q11"), lambda: _posts("03:00:00")),
            "q7": _positions,
            "q9": lambda: in_order([*_posts("02:20:00"), *_photos()]),
        },
    ),
    "citybench": Scenario(
        "sensors of Aarhus",
        lambda: citybench.events(_ROADS_AND_AIR, f"{_CITY_DAY}08:00:00", f"{_CITY_DAY}09:30:00"),
        citybench.static,
        {**dict.fromkeys(("q4", "q6"), _user), **dict.fromkeys(("q7", "q8", "q9"), _parking)},
    ),
    "debs2015": Scenario("taxi trips in New York", lambda: debs2015.events(50)),
    "taxi": Scenario("trips as graphs", lambda: taxi.events(600)),
    "snb": Scenario("weeks of a social network as graphs", snb.weeks),
    "lubm": Scenario("universities as graphs", lambda: lubm.events(1_000, 10)),
}


def run(path: Path, scenario: Scenario, limit: int | None, *, shows_rows: bool) -> int:
    """Run a query, print what it finds, and return the number of its rows."""
    events = scenario.load(path.stem)[:limit]
    engine = Engine()
    for graph, body in _loaded(scenario.static).items():
        engine.load(graph, body, "ntriples")
    for stream in {event.stream for event in events}:
        engine.declare_stream(stream)
    query = engine.register(path.read_text(encoding="utf-8"), path.stem, dialect=_DIALECTS[path.suffix])
    bodies = [(event.stream, event.t, ntriples(event.triples)) for event in events]
    began, results, rows = time.perf_counter(), 0, 0
    for number, (stream, t, body) in enumerate([*bodies, ("", 0, b"")]):
        if number < len(bodies):
            engine.push(stream, t, body, "ntriples")
        else:
            engine.close()
        for result in query:
            results += 1
            found = [result.boolean] if result.kind == "boolean" else list(result.inserted)
            rows += len(found)
            if shows_rows:
                _show(result.at, found)
    took = time.perf_counter() - began
    name = f"{path.parent.name}/{path.name}"
    print(f"{name:24} {len(events):6} events {results:6} results {rows:8} rows {took:7.2f} s")
    return rows


def _show(t: int, rows: Sequence[object]) -> None:
    for row in rows[:_ROWS_SHOWN]:
        if isinstance(row, Mapping):
            shown = "  ".join(f"?{name} = {value}" for name, value in row.items())
        else:
            shown = " ".join(map(str, row)) if isinstance(row, tuple) else str(row).lower()
        print(f"  {t}  {shown}")
    if len(rows) > _ROWS_SHOWN:
        print(f"  {t}  … and {len(rows) - _ROWS_SHOWN} more")


def queries(wanted: str) -> Iterator[Path]:
    """The files of a scenario, or the one that is named."""
    folder, _, file = wanted.strip("/").partition("/")
    if folder not in SCENARIOS:
        raise SystemExit(f"there is no scenario '{folder}'; there are {', '.join(SCENARIOS)}")
    names = {path.name: path for path in (EXAMPLES / folder).iterdir() if path.suffix in _DIALECTS}
    if file and file not in names:
        raise SystemExit(f"there is no query '{wanted}'; there are {', '.join(sorted(names))}")
    yield from [names[file]] if file else sorted(names.values(), key=lambda path: (len(path.stem), path.name))


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments ask for."""
    summary, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", nargs="?", help="a folder of examples/, or a file in it")
    parser.add_argument("--events", type=int, metavar="N", help="only the first N events")
    parser.add_argument("--list", action="store_true", help="show the scenarios")
    chosen = parser.parse_args(arguments)
    if chosen.list or chosen.scenario is None:
        for name, scenario in SCENARIOS.items():
            print(f"{name:12} {scenario.about}")
        return 0
    wanted = list(queries(chosen.scenario))
    scenario = SCENARIOS[chosen.scenario.partition("/")[0]]
    try:
        for path in wanted:
            run(path, scenario, chosen.events, shows_rows=len(wanted) == 1)
    except DataMissingError as error:
        print(f"error: {error}\nhint: set WHORL_TEST_DATA to the folder with the data sets", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has seen enough, as in `run.py … | head`.
        sys.stderr.close()
    except WhorlError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
