"""The two queries of the DEBS 2015 challenge against the outside oracle, trip by trip.

The taxis are sampled, not the trips, so that whether a taxi is empty is decided by all of its trips. The lines of the
challenge are compared with the outputs of a contestant: which routes and areas there are, in which order, with which
incomes. Its cells are those of a grid of its own, so that both are translated into the names of its areas; it also
lists areas without income, which the challenge does not ask for.
"""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from whorl_workloads import debs2015, is_long
from whorl_workloads.check import EXAMPLES, check, loaded, query_text
from whorl_workloads.data import data_path


@pytest.mark.parametrize(("name", "one_taxi_in", "in_long"), [("q1", 50, 8), ("q2", 90, 20)], ids=["q1", "q2"])
def test_engine_equals_oracle(name: str, one_taxi_in: int, in_long: int) -> None:
    events = loaded(debs2015.events, in_long if is_long() else one_taxi_in)
    text, dialect = query_text("debs2015", f"{name}.cqels")
    assert check(text, dialect, events, {}).is_fruitful()


# The areas of the cases: longitude and latitude, and the cells that the contestant has for them in q1 and in q2.
AREAS = {
    "A1": ("-74.913585", "41.474937", "1.1", "1.1"),
    "A2": ("-73.993973", "40.751266", "156.161", "311.321"),
    "A3": ("-73.956528", "40.716976", "163.169", "324.336"),
    "A4": ("-73.981453", "40.778465", "158.155", "316.309"),
    "A5": ("-73.962440", "40.715008", "162.169", "322.337"),
    "A6": ("-73.955383", "40.779728", "163.155", "324.308"),
    "A7": ("-74.004173", "40.720947", "", "308.334"),
    "A8": ("-73.979439", "40.784386", "", "316.306"),
    "A9": ("-74.003838", "40.726189", "", "308.332"),
    "A10": ("-73.983772", "40.730995", "", "315.330"),
    "A11": ("-73.973145", "40.752827", "", "318.320"),
}
GRIDS = {"q1": (0.004491556, 0.005986), "q2": (0.002245778, 0.002993)}


@pytest.fixture(scope="module")
def challenge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("challenge", EXAMPLES / "debs2015/challenge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def case(name: str) -> Path:
    return loaded(data_path, "debs2015", "q1-q2-cases", name)


def trips(name: str) -> list[list[str]]:
    """The trips of a case, whose coordinates end in `f`."""
    rows = csv.reader(case(name).read_text(encoding="utf-8").splitlines())
    return [[*row[:6], *(cell.removesuffix("f") for cell in row[6:10]), *row[10:]] for row in rows]


def cell(query: str, longitude: str, latitude: str) -> str:
    height, width = GRIDS[query]
    column, row = (float(longitude) + 74.913585) / width, (41.474937 - float(latitude)) / height
    return f"{1 + int(column)}.{1 + int(row)}"


def named(query: str, line: list[str], *, is_ours: bool) -> list[str]:
    """A line with the names of areas for cells, times to the second, and without what is NULL."""
    place = 2 if query == "q1" else 3
    names = {
        cell(query, found[0], found[1]) if is_ours else found[place]: name
        for name, found in AREAS.items()
        if found[place]
    }
    return [
        *(time.removesuffix(".0") for time in line[:2]),
        *(names.get(one, one) for one in line[2:] if one != "NULL"),
    ]


def test_the_lines_of_q1_are_those_of_a_contestant(challenge: ModuleType) -> None:
    expected = csv.reader(case("q1-output.csv").read_text(encoding="utf-8").splitlines())
    found = [named("q1", line, is_ours=True) for line in challenge.lines("q1", trips("q1-input.csv"))]
    assert found == [named("q1", line, is_ours=False) for line in expected]


def with_income(line: list[str]) -> list[tuple[str, int, float, float]]:
    places = [line[at : at + 4] for at in range(2, len(line), 4)]
    read = [(name, int(taxis), float(median), float(each)) for name, taxis, median, each in places]
    return [place for place in read if place[2] > 0]


# A trip that begins before the last one of its taxi has ended. The contestant takes the taxi from where it was; by the
# challenge's words, and in the query, only a pick-up after the drop-off does.
OVERLAPPING = (2, ("2013-01-01 00:02:00", "2013-01-01 00:07:00"))


@pytest.mark.parametrize("number", [1, 2])
def test_the_areas_of_q2_are_those_of_a_contestant(challenge: ModuleType, number: int) -> None:
    rows = csv.reader(case(f"q2-{number}-output.csv").read_text(encoding="utf-8").splitlines())
    expected = {tuple(line[:2]): with_income(line) for line in (named("q2", row, is_ours=False) for row in rows)}
    lines = [named("q2", line, is_ours=True) for line in challenge.lines("q2", trips(f"q2-{number}-input.csv"))]
    found = {tuple(line[:2]): with_income(line) for line in lines}
    assert len(found) >= 4
    for trip, places in found.items():
        theirs = expected[trip]
        if (number, trip) == OVERLAPPING:
            assert {(place[0], place[2]) for place in places} == {(place[0], place[2]) for place in theirs}
            continue
        assert [place[:2] for place in places] == [place[:2] for place in theirs], trip
        assert [place[2:] for place in places] == [pytest.approx(place[2:], rel=1e-5) for place in theirs], trip
