"""The averages, sums and counts of published queries: each warns, or is right in a set window.

The queries are read where they were published, and only their syntax is repaired: many are drafts on a wiki. *Right*
means that the answer does not change under bag semantics, on data in which every reading has a value that another one
has, too. Does not detect: aggregates over a product of patterns, which both semantics count alike.
"""

from __future__ import annotations

import csv
import io
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from reference_data import reference_path
from whorl import Engine

ROOT = Path(__file__).parents[2]
MERGES = "aggregate.merges"
KNOESIS = "http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
WEATHER = "http://knoesis.wright.edu/ssw/ont/weather.owl#"
DEBS = "http://debs2015.org/onto#"
# The first eleven readings of this sensor have eight different values.
OZONE = "streams-all-pollution/AarhusPollutionData195204.stream"

pytestmark = pytest.mark.skipif(
    reference_path("queries", "debs15") is None, reason="the reference queries are not there; set WHORL_TEST_DATA"
)


@dataclass(frozen=True)
class Published:
    """A query: where it stands, which part of the file it is, and its text with the syntax repaired."""

    file: str
    begin: str
    end: str
    repaired: Callable[[str], str]
    events: tuple[str, ...] = ()
    static: str = ""
    every_ms: int = 1

    def text(self) -> str:
        path = reference_path("queries", *self.file.split("/"))
        assert path is not None, self.file
        whole = path.read_text()
        start = whole.index(self.begin)
        return self.repaired(whole[start : whole.index(self.end, start)])


def rides(*pairs: str) -> tuple[str, ...]:
    """Four rides that are alike but for their names."""
    return tuple(" ".join(f"<{DEBS}ride{n}> {pair} ." for pair in pairs) for n in range(4))


def observation(n: int, kind: str, value: float) -> str:
    """An observation as SRBench and CSRBench have it."""
    node, property_ = f"<http://ex/{kind}{n}>", f"<{WEATHER}_{kind}>"
    return f"""{node} <{KNOESIS}procedure> <http://ex/sensor> ; a <{WEATHER}{kind}Observation> ;
        <{KNOESIS}observedProperty> {property_} ; <{KNOESIS}result> <http://ex/{kind}{n}r> .
        <http://ex/sensor> <{KNOESIS}generatedObservation> {node} .
        <http://ex/{kind}{n}r> <{KNOESIS}floatValue> {value} ; <{KNOESIS}uom> <http://ex/unit> ."""


def srbench(text: str) -> str:
    """The window clause of an older draft, and prefixes that its page leaves out."""
    clause = r"FROM NAMED WINDOW ON STREAM (\S+) \[RANGE (\w+) SLIDE (\w+)\] AS :win"
    text = re.sub(clause, r"FROM NAMED WINDOW :win ON \1 [RANGE \2 STEP \3]", text)
    text = re.sub(r"(SELECT|CONSTRUCT) ISTREAM", r"\1", text)
    return f"PREFIX : <http://ex/> PREFIX srbench: <http://www.cwi.nl/SRBench/> {text}"


def debs_3(text: str) -> str:
    pattern = text.replace("?taxi debs:pickup ?location", "?taxi debs:pickup ?location .")
    window = "FROM NAMED WINDOW :w1 ON <http://debs2015.org/streams/> [RANGE PT30M STEP PT15M]"
    prefixes = "PREFIX : <http://ex/> PREFIX debs: <http://debs2015.org/onto#>"
    return (
        f"{prefixes} SELECT (SUM(?amount) AS ?totalamount) ?location {window} WHERE {{ {pattern} }} GROUP BY ?location"
    )


def debs_7(text: str) -> str:
    text = re.sub(r"(\?\w+) ?\n", r"\1 .\n", text.partition("FILTER")[0]).replace("FROM GRAPH gn:geonames", "")
    prefixes = "PREFIX : <http://ex/> PREFIX debs: <http://debs2015.org/onto#>"
    return f"""{prefixes} PREFIX gn: <http://www.geonames.org/ontology#>
        PREFIX s: <http://debs2015.org/streams/>
        SELECT ?neighbourhood (COUNT(?newPickups) / COUNT(?oldPickups) AS ?increase)
        {text} }} GROUP BY ?neighbourhood"""


def debs_8(text: str) -> str:
    window = "FROM NAMED WINDOW :spot ON <http://debs2015.org/streams/> [RANGE PT6H STEP PT6H]"
    return f"""PREFIX : <http://ex/> PREFIX debs: <http://debs2015.org/onto#>
        SELECT ?point (SUM(?total - ?tax - ?tips) AS ?profit) {window}
        WHERE {{ {text} ?ride debs:dropPoint ?point }} }} GROUP BY ?point"""


def gallehault(text: str) -> str:
    pattern = re.sub(r"\{(.*?)\} BEGIN AT \?t\d", r"\1 .", text).partition("FILTER")[0]
    window = "FROM NAMED WINDOW :veryLongWindow ON <http://ex/s> [RANGE PT4H STEP PT1H]"
    return f"""PREFIX : <http://ex/> PREFIX e: <http://ex/>
        SELECT ?poi (COUNT(?somebody) AS ?howmanycouples) {window} WHERE {{ {pattern} }} }} GROUP BY ?poi"""


RIGHT = {
    "debs15 Q1: rides over two miles": Published(
        "debs15/rspql-sample-queries.md",
        "SELECT COUNT(?ride)",
        "```",
        lambda text: (
            "PREFIX : <http://ex/> PREFIX debs: <http://debs2015.org/onto#> PREFIX s: <http://debs2015.org/streams/> "
            + text.replace("COUNT(?ride) as ?rideCount", "(COUNT(?ride) AS ?n)").replace(":wind ON", ":win ON")
        ),
        rides(f"<{DEBS}distance> 3"),
    ),
    "debs15 Q7: pickups of two hours": Published(
        "debs15/rspql-sample-queries.md",
        "FROM NAMED WINDOW :newPickups",
        "```",
        debs_7,
        rides(f"<{DEBS}pickup_latitude> 40.7", f"<{DEBS}pickup_longitude> -73.9"),
        "".join(
            f"<{DEBS}ride{n}> <http://www.geonames.org/ontology#neighbourhood> <http://ex/soho> .\n" for n in range(4)
        ),
        every_ms=1_800_000,
    ),
    "debs15 Q8: profit of a spot": Published(
        "debs15/rspql-sample-queries.md",
        "WINDOW :spot {",
        "{\n                        # Data transformation",
        debs_8,
        rides(
            f"<{DEBS}fare_amount> 9",
            f"<{DEBS}mta_tax> 1",
            f"<{DEBS}tip_amount> 2",
            f"<{DEBS}dropPoint> <http://ex/p>",
        ),
    ),
    "gallehault: couples of a bar": Published(
        "rspql-examples/gallehault.md",
        "WINDOW :veryLongWindow {",
        "WINDOW :longWindow {",
        gallehault,
        tuple(f"<http://ex/{name}> <http://ex/enters> <http://ex/bar> ." for name in ("paolo", "francesca", "dante")),
    ),
    "SRBench Q4: wind and temperature": Published(
        "srbench/rspql-q1-q4-q5-q10.md",
        "PREFIX om-owl",
        "##Q5",
        lambda text: srbench("PREFIX om-owl" + text.split("##Q4", 1)[1].split("PREFIX om-owl", 1)[1]),
        tuple(
            observation(n, "Temperature", 90) + observation(n, "WindSpeed", value) for n, value in enumerate((5, 5, 8))
        ),
    ),
    "SRBench Q5: a blizzard": Published(
        "srbench/rspql-q1-q4-q5-q10.md",
        "SELECT ?sensor\n",
        "##Q10",
        lambda text: srbench(
            f"PREFIX om-owl: <{KNOESIS}> PREFIX weather: <{WEATHER}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
            + text.rstrip()
            .rstrip("}")
            .replace("WHERE {", "FROM NAMED WINDOW :win ON <http://ex/s> [RANGE 3h] WHERE { WINDOW :win {", 1)
            .replace("GROUP BY", "} GROUP BY", 1)
            .rstrip()
            .rstrip("}")
        ),
        tuple(
            observation(n, "Snowfall", 1)
            + observation(n, "Temperature", 30).replace("_Temperature", "_AirTemperature")
            + observation(n, "Wind", 41).replace("_Wind>", "_WindSpeed>")
            for n in range(3)
        ),
    ),
    "CSRBench, aligned query 4": Published(
        "csrbench/aligned-queries.properties",
        "srb.query4.rspqlquery = ",
        "srb.query4.csparqlquery",
        lambda text: text.removeprefix("srb.query4.rspqlquery = ").replace("\\n\\", ""),
        tuple(observation(n, "AirTemperature", value) for n, value in enumerate((81, 81, 90))),
    ),
    "conference Q5: co-authors nearby": Published(
        "cqels-conference/q5.cqels",
        "PREFIX",
        "GROUP BY",
        lambda text: text.replace("AUTHORNAME", "Ada") + "GROUP BY ?loc2 ?locName",
        tuple(
            f"<http://ex/{name}> <http://deri.org/floorplan/detectedAt> <http://ex/hall> ." for name in ("b", "c", "a")
        ),
        """<http://ex/hall> <http://deri.org/floorplan/name> "Hall" .
           <http://ex/hall> <http://deri.org/floorplan/connected> <http://ex/hall> .
           <http://ex/p> <http://purl.org/dc/elements/1.1/creator> <http://ex/a>, <http://ex/b>, <http://ex/c> .
           <http://ex/a> <http://xmlns.com/foaf/0.1/name> "Ada" .""",
    ),
}


def answers(query: Published, semantics: Literal["set", "bag"]) -> list[list[dict[str, object]]]:
    """All answers that have rows."""
    engine = Engine()
    if query.static:
        engine.load(None, query.static)
        engine.load("http://deri.org/floorplan/", query.static)
    registered = engine.register(query.text(), semantics=semantics, base_iri="http://ex/")
    streams = {window["stream"] for window in registered.explain("json")["windows"]}
    for n, event in enumerate(query.events):
        for stream in streams:
            engine.push(stream, 1_000 + n * query.every_ms, event)
    engine.close()
    return [[dict(row) for row in result.rows] for result in registered if result.rows]


@pytest.mark.parametrize("name", RIGHT)
def test_published_aggregates_over_nodes_of_their_own_are_right_and_not_warned_of(name: str) -> None:
    query = RIGHT[name]
    assert MERGES not in [one["code"] for one in Engine().validate(query.text(), base_iri="http://ex/")["warnings"]]
    found = answers(query, "set")
    assert found, "the data has an answer"
    assert found == answers(query, "bag")


def test_the_profit_of_locations_warns_because_amounts_of_a_location_merge() -> None:
    text = Published(
        "debs15/rspql-sample-queries.md", "WINDOW :w1 \n  {\n   ?taxi debs:pickup", "GROUP BY", debs_3
    ).text()
    (warning,) = (one for one in Engine().validate(text)["warnings"] if one["code"] == MERGES)
    assert warning["message"].startswith("SUM(?amount) counts equal readings once")


def ozone() -> list[int]:
    """The first eleven readings of the sensor."""
    path = reference_path("data", "citybench", "streams-all-pollution.tar.gz")
    if path is None:
        pytest.skip("the data of CityBench is not there; set WHORL_TEST_DATA")
    with tarfile.open(path) as archive:
        member = archive.extractfile(OZONE)
        assert member is not None
        rows = csv.DictReader(io.StringIO(member.read().decode()))
        return [int(row["ozone"]) for _, row in zip(range(11), rows, strict=False)]


@pytest.mark.parametrize("modelling", ["of the sensor", "of observations"])
def test_the_ozone_of_citybench_warns_or_counts_each_reading(modelling: str) -> None:
    readings = ozone()
    pattern = "?sensor :ozone ?v" if modelling == "of the sensor" else "?o :by ?sensor ; :ozone ?v"
    text = f"""PREFIX : <http://ex/> SELECT (AVG(?v) AS ?mean) (COUNT(?v) AS ?n)
        FROM NAMED WINDOW :w ON :s [RANGE 1h STEP 1h] WHERE {{ WINDOW :w {{ {pattern} }} }}"""
    engine = Engine()
    as_set, as_bag = engine.register(text), engine.register(text, semantics="bag")
    for n, value in enumerate(readings):
        node = "http://ex/sensor" if modelling == "of the sensor" else f"http://ex/o{n}"
        engine.push(
            "http://ex/s", n * 300_000, f"<{node}> <http://ex/ozone> {value} ; <http://ex/by> <http://ex/sensor> ."
        )
    engine.close()
    found = [next((round(float(str(row["mean"])), 2), row["n"]) for row in query.rows()) for query in (as_set, as_bag)]
    codes = [warning["code"] for warning in as_set.warnings]
    if modelling == "of the sensor":
        assert (found, codes) == ([(94.75, 8), (96.18, 11)], [MERGES, MERGES])
    else:
        assert (found, codes) == ([(96.18, 11), (96.18, 11)], [])
