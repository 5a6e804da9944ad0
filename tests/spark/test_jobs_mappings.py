"""What a producer's rows become: the documented triples, event by event. By the engine alone, without Spark."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
import whorl
from whorl.spark.jobs import NAMES, JobOptions, find
from whorl.spark.rdf_text import parse

NYCTAXI = "http://example.org/nyctaxi/"
SERVICES = "http://www.insight-centre.org/dataset/SampleEventService#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
DECIMAL = "<http://www.w3.org/2001/XMLSchema#decimal>"
DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"
DOUBLE = "<http://www.w3.org/2001/XMLSchema#double>"


def events(job: str, output: str, rows: int = 5, **cells: Any) -> list[set[str]]:
    """The events of generated rows, some of whose cells may be replaced; triples without a full stop."""
    found = find(job).output(output)
    feed = found.generated(start_ms=None, rows=rows, seed=0)
    table = pa.Table.from_batches(feed.read(-1, 1 << 60), feed.schema).to_pylist()
    return mapped(job, output, [{**row, **cells} for row in table])


def mapped(job: str, output: str, rows: list[dict[str, Any]]) -> list[set[str]]:
    found = find(job).output(output)
    assert found.mapping is not None
    assert found.generator is not None
    nquads = whorl.map_rows(found.mapping, pa.Table.from_pylist(rows, found.generator.schema))
    graphs: dict[str, set[str]] = defaultdict(set)
    for quad in ox.parse(nquads, ox.RdfFormat.N_QUADS):
        if quad.graph_name != ox.DefaultGraph():
            graphs[str(quad.graph_name)].add(f"{quad.subject} {quad.predicate} {quad.object}")
    return list(graphs.values())


# The first row of the challenge.
TRIP = {
    "medallion": "07290D3599E7A0D62097A346EFCC1FB5",
    "pickup_datetime": "2013-01-01 00:00:00",
    "dropoff_datetime": "2013-01-01 00:02:00",
    "trip_time_in_secs": 120,
    "pickup_longitude": "-73.956528",
    "pickup_latitude": "40.716976",
    "dropoff_longitude": "-73.962440",
    "dropoff_latitude": "40.715008",
    "fare_amount": "3.50",
    "tip_amount": "0.00",
}
KEY = "07290D3599E7A0D62097A346EFCC1FB5-20130101000000"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "pickup",
            {
                f"<{NYCTAXI}ride/{KEY}> <{NYCTAXI}taxi> <{NYCTAXI}taxi/07290D3599E7A0D62097A346EFCC1FB5>",
                f'<{NYCTAXI}ride/{KEY}> <{NYCTAXI}pickupTime> "2013-01-01T00:00:00Z"^^{DATE_TIME}',
            },
        ),
        (
            "dropoff",
            {
                f'<{NYCTAXI}ride/{KEY}> <{NYCTAXI}dropoffTime> "2013-01-01T00:02:00Z"^^{DATE_TIME}',
                f'<{NYCTAXI}ride/{KEY}> <{NYCTAXI}tripTime> "120"^^<http://www.w3.org/2001/XMLSchema#integer>',
            },
        ),
        (
            "fare",
            {
                f'<{NYCTAXI}trans/{KEY}> <{NYCTAXI}fare> "3.50"^^{DECIMAL}',
                f'<{NYCTAXI}trans/{KEY}> <{NYCTAXI}pickupTime> "2013-01-01T00:00:00Z"^^{DATE_TIME}',
            },
        ),
    ],
)
def test_a_trip_is_a_pick_up_a_drop_off_and_a_fare(output: str, expected: set[str]) -> None:
    assert mapped("taxi", output, [{"t": 0, **TRIP}]) == [expected]


def test_a_trip_is_one_graph() -> None:
    debs, trip = "http://example.org/debs2015/", f"<http://example.org/debs2015/trip/{KEY}>"
    numbers = {"pickLon": "-73.956528", "pickLat": "40.716976", "dropLon": "-73.962440", "dropLat": "40.715008"}
    numbers |= {"fare": "3.50", "tip": "0.00"}
    assert mapped("taxi-trips", "trips", [{"t": 0, **TRIP}]) == [
        {
            f'{trip} <{debs}taxi> "07290D3599E7A0D62097A346EFCC1FB5"',
            f'{trip} <{debs}pickupTime> "2013-01-01T00:00:00Z"^^{DATE_TIME}',
            f'{trip} <{debs}dropoffTime> "2013-01-01T00:02:00Z"^^{DATE_TIME}',
            *(f'{trip} <{debs}{name}> "{value}"^^{DECIMAL}' for name, value in numbers.items()),
        }
    ]


def test_a_station_tells_what_it_measured_and_nothing_else() -> None:
    row = {"t": 0, "moment": "2004-08-08T06:05:00", "station": "K3HT", "airtemperature": 62.5, "pressure": 29.9}
    (event,) = mapped("weather", "observations", [row])
    sensor = "http://knoesis.wright.edu/ssw/"
    om, weather = f"{sensor}ont/sensor-observation.owl#", f"{sensor}ont/weather.owl#"
    label = "K3HT_2004_08_08_06_05_00"
    observation = f"<{sensor}Observation_AirTemperature_{label}>"
    result = f"<{sensor}MeasureData_AirTemperature_{label}>"
    instant = f"<{sensor}Instant_2004_08_08_06_05_00>"
    of_temperature = {
        f"{observation} <{RDF_TYPE}> <{weather}TemperatureObservation>",
        f"{observation} <{om}observedProperty> <{weather}_AirTemperature>",
        f"{observation} <{om}procedure> <{sensor}System_K3HT>",
        f"{observation} <{om}result> {result}",
        f"{observation} <{om}samplingTime> {instant}",
        f"<{sensor}System_K3HT> <{om}generatedObservation> {observation}",
        f"{result} <{RDF_TYPE}> <{om}MeasureData>",
        f'{result} <{om}floatValue> "62.5"^^{DOUBLE}',
        f"{result} <{om}uom> <{weather}fahrenheit>",
    }
    of_time = {
        f"{instant} <{RDF_TYPE}> <http://www.w3.org/2006/time#Instant>",
        f'{instant} <http://www.w3.org/2006/time#inXSDDateTime> "2004-08-08T06:05:00"',
    }
    assert {triple for triple in event if "Pressure" not in triple} == of_temperature | of_time
    # The unit of pressure is not known.
    assert len(event) == 9 + 8 + 2


def test_somebody_is_detected_somewhere() -> None:
    row = {"t": 0, "person": "http://deri.org/dblp/persons/Paul_Erdoes", "place": "http://deri.org/floorplan/D011"}
    assert mapped("conference", "rfid", [row]) == [
        {
            "<http://deri.org/dblp/persons/Paul_Erdoes> <http://deri.org/floorplan/detectedAt> "
            "<http://deri.org/floorplan/D011>"
        }
    ]


def test_a_road_has_five_properties_and_those_without_value_are_left_out() -> None:
    row = {"t": 5, "sensor": "AarhusTrafficData158505", "avg_speed": 52.0, "vehicle_count": 1.0, "measured_time": 141.0}
    (event,) = mapped("city", "traffic", [row])
    observation = f"<{SERVICES}AarhusTrafficData158505-AvgSpeed-5>"
    property_iri = f"<{SERVICES}AarhusTrafficData158505-AvgSpeed>"
    ssn = "http://purl.oclc.org/NET/ssnx/ssn#"
    assert {triple for triple in event if "AvgSpeed" in triple} == {
        f"{observation} <{RDF_TYPE}> <{ssn}Observation>",
        f"{observation} <{ssn}observedBy> <{SERVICES}AarhusTrafficData158505>",
        f"{observation} <{ssn}observedProperty> {property_iri}",
        f'{observation} <http://purl.oclc.org/NET/sao/hasValue> "52"^^{DOUBLE}',
        f"{property_iri} <{RDF_TYPE}> <http://www.insight-centre.org/citytraffic#AvgSpeed>",
    }
    assert len(event) == 3 * 5


@pytest.mark.parametrize(
    ("job", "output", "triples"),
    [
        ("city", "parking", 5),
        ("city", "pollution", 5),
        ("city", "weather", 15),
        ("city", "users", 6),
        ("social", "posts", 9),
        ("social", "post-likes", 1),
        ("social", "photos", 11),
        ("social", "photo-likes", 1),
        ("social", "positions", 5),
    ],
)
def test_every_row_is_an_event_of_so_many_triples(job: str, output: str, triples: int) -> None:
    assert [len(event) for event in events(job, output, rows=4)] == [triples] * 4


def test_every_mapping_reads_only_columns_that_its_rows_have() -> None:
    for name in NAMES:
        if name not in ("files", "kafka"):
            for output in find(name).outputs(JobOptions()):
                assert len(events(name, output.name, rows=3)) == 3


EXAMPLES = [
    ("taxi-trips", "debs2015/q1.cqels"),
    ("weather", "srbench/q3.rspql"),
    ("weather", "srbench/q4.rspql"),
    ("social", "lsbench/q1.cqels"),
    ("social", "lsbench/q10.cqels"),
]


@pytest.mark.parametrize(("job", "file"), EXAMPLES)
def test_the_example_queries_find_something_in_made_up_data(job: str, file: str) -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "examples" / file).read_text()
    with whorl.Engine() as engine:
        query = engine.register(text)
        for output in find(job).outputs(JobOptions()):
            engine.declare_stream(output.stream)
            engine.set_mapping(output.stream, output.mapping)
            feed = output.generated(start_ms=None, rows=4_000, seed=0)
            for batch in feed.read(-1, 1 << 60):
                engine.push(output.stream, None, batch)
        engine.close()
        assert query.rows()


def test_rdf_as_text_is_triples_event_by_event() -> None:
    text = """
    <http://ex/g> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:02Z" .
    <http://ex/a> <http://ex/p> "x"@en <http://ex/g> .
    _:n <http://ex/p> 1 .
    """.replace(" 1 .", ' "1"^^<http://www.w3.org/2001/XMLSchema#integer> .')
    named, plain = parse(text, "nquads", 7, "topic/0/1")
    assert (named.t, named.s, named.o, named.event) == (2_000, "<http://ex/a>", '"x"@en', "topic/0/1 <http://ex/g>")
    assert (plain.t, plain.event) == (7, "topic/0/1")
    assert plain.s == parse(text, "nquads", 7, "topic/0/1")[1].s != parse(text, "nquads", 7, "topic/0/2")[1].s


def test_text_that_is_not_rdf_is_named() -> None:
    from whorl.spark import WhorlSparkError

    with pytest.raises(WhorlSparkError, match=r"the text of topic/0/1 is not nquads"):
        parse("nonsense", "nquads", 0, "topic/0/1")
    with pytest.raises(WhorlSparkError, match=r"an event of topic/0/1 has no time"):
        parse("<http://ex/a> <http://ex/p> <http://ex/b> .", "nquads", None, "topic/0/1")
