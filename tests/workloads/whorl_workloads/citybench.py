"""CityBench: traffic, parking, pollution and weather of Aarhus, and the way of one user.

Each row of a sensor becomes, for each property the sensor observes, one observation of four triples. The air quality
index of a pollution row is the largest of its five values. The user's positions carry no time; they are replayed at an
even pace.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pyoxigraph as ox

from whorl_workloads.data import (
    TYPE,
    Event,
    Static,
    Term,
    Triple,
    data_path,
    in_order,
    iri,
    ntriples,
    parse,
    tar_members,
    to_ms,
    typed,
)

SERVICES = "http://www.insight-centre.org/dataset/SampleEventService#"
USER_LOCATION = "UserLocationService"
SENSORS = "http://example.org/citybench/sensors"
CULTURE = "http://example.org/citybench/cultural-events"
LIBRARIES = "http://example.org/citybench/library-events"

SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO = "http://purl.oclc.org/NET/sao/"
CT = "http://www.insight-centre.org/citytraffic#"
OBSERVES = f"<{SSN}observes>"
POLLUTANTS = ("ozone", "particullate_matter", "carbon_monoxide", "sulfure_dioxide", "nitrogen_dioxide")
TIME_COLUMNS = ("TIMESTAMP", "timestamp", "updatetime")
UNDEFINED = -1.0


@cache
def repository() -> tuple[Triple, ...]:
    """The sensors, what they observe and where."""
    return tuple(_static_triples("SensorRepository.n3"))


def static(*, whole: bool = False) -> Static:
    """Sensors, cultural events and events of the libraries, each in a graph.

    Unless the `whole` repository is wanted, of the sensors only what the queries ask for: the kinds of properties, what
    they are properties of, and where that is. The rest, four fifths, is on the quality of the service.
    """
    asked = (f"<{SSN}isPropertyOf>", f"<{CT}hasStartLatitude>", f"<{CT}hasStartLongitude>")
    sensors = (triple for triple in repository() if whole or triple[1] in asked or triple[2].startswith(f"<{CT}"))
    return {
        SENSORS: ntriples(sensors),
        CULTURE: ntriples(_static_triples("AarhusCulturalEvents.n3")),
        LIBRARIES: ntriples(_static_triples("AarhusLibraryEvents.n3")),
    }


def events(sensors: Sequence[str], since: str, until: str) -> list[Event]:
    """What the named sensors observed between two moments."""
    first, end = to_ms(since), to_ms(until)
    names = {f"streams-queries/{sensor}.stream": sensor for sensor in sensors}
    bodies = tar_members(data_path("citybench", "streams-queries.tar.gz"), list(names))
    found = []
    for name, body in bodies.items():
        for row in csv.DictReader(body.decode().splitlines()):
            t = to_ms(next(row[column] for column in TIME_COLUMNS if column in row))
            if first <= t < end:
                found.append(Event(f"{SERVICES}{names[name]}", t, tuple(observations(names[name], t, row))))
    return in_order(found)


def user_events(start: str, pace_ms: int, count: int) -> list[Event]:
    """The first positions of the user, from `start` on."""
    name = f"streams-queries/{USER_LOCATION}.stream"
    lines = tar_members(data_path("citybench", "streams-queries.tar.gz"), [name])[name].decode().splitlines()
    found = []
    for number, line in enumerate(lines[:count]):
        t = to_ms(start) + number * pace_ms
        _, _, place = line.partition("|")
        latitude, longitude = place.split(",")
        observation, value = iri(f"{SERVICES}location-{number}"), iri(f"{SERVICES}place-{number}")
        triples = (
            *_observation(observation, USER_LOCATION, iri(f"{SERVICES}locationProperty"), value),
            (value, iri(f"{CT}hasLatitude"), typed(latitude, "double")),
            (value, iri(f"{CT}hasLongitude"), typed(longitude, "double")),
        )
        found.append(Event(f"{SERVICES}{USER_LOCATION}", t, triples))
    return found


def observations(sensor: str, t: int, row: Mapping[str, str]) -> Iterator[Triple]:
    """One observation per property of the sensor."""
    values = _values(sensor, row)
    for number, (kind, observed) in enumerate(_properties()[f"<{SERVICES}{sensor}>"]):
        datatype = "int" if kind == "ParkingVacancy" else "double"
        yield from _observation(
            iri(f"{SERVICES}{sensor}-{number}-{t}"), sensor, observed, typed(values[kind], datatype)
        )


def _observation(observation: Term, sensor: str, observed: Term, value: Term) -> Iterator[Triple]:
    yield observation, TYPE, iri(f"{SSN}Observation")
    yield observation, iri(f"{SSN}observedBy"), iri(f"{SERVICES}{sensor}")
    yield observation, iri(f"{SSN}observedProperty"), observed
    yield observation, iri(f"{SAO}hasValue"), value


def _values(sensor: str, row: Mapping[str, str]) -> dict[str, float | int]:
    """The values of a row by the class of the property."""
    if "Traffic" in sensor:
        metres = _distances()[row["REPORT_ID"]]
        speed, vehicles = float(row["avgSpeed"]), float(row["vehicleCount"])
        return {
            "AvgSpeed": speed,
            "VehicleCount": vehicles,
            "MeasureTime": float(row["avgMeasuredTime"]),
            "CongestionLevel": vehicles / metres if metres else UNDEFINED,
            "EstimatedTime": metres / speed if speed else UNDEFINED,
        }
    if "Parking" in sensor:
        return {"ParkingVacancy": int(row["totalspaces"]) - int(row["vehiclecount"])}
    if "Pollution" in sensor:
        return {"API": float(max(int(row[column]) for column in POLLUTANTS))}
    return {"Humidity": float(row["hum"]), "Temperature": float(row["tempm"]), "WindSpeed": float(row["wspdm"])}


@cache
def _properties() -> dict[Term, list[tuple[str, Term]]]:
    """Of each sensor: the classes and names of its properties, in order of class."""
    classes = {s: o.rpartition("#")[2][:-1] for s, p, o in repository() if p == TYPE and o.startswith(f"<{CT}")}
    found: dict[Term, list[tuple[str, Term]]] = {}
    for sensor, predicate, observed in repository():
        if predicate == OBSERVES:
            found.setdefault(sensor, []).append((classes[observed], observed))
    return {sensor: sorted(observed) for sensor, observed in found.items()}


@cache
def _distances() -> dict[str, float]:
    """Metres between the two points of a traffic sensor, by its report number."""
    name = "static/metadata/trafficMetaData.csv"
    body = tar_members(data_path("citybench", "static.tar.gz"), [name])[name]
    rows = csv.DictReader(body.decode().splitlines())
    return {row["REPORT_ID"]: float(row["DISTANCE_IN_METERS"]) for row in rows}


def _static_triples(file: str) -> list[Triple]:
    name = f"static/{file}"
    return parse(tar_members(data_path("citybench", "static.tar.gz"), [name])[name], ox.RdfFormat.TURTLE)
