"""SRBench: weather observations of LinkedSensorData, one event per station and instant.

The shape is the one of CSRBench: an observation has a class, a property, a station, a result with value and unit, and a
sampling time; in addition the station points to its observations. Units are the documented ones; the unit of pressure
is not, so pressures have none. Values keep the spelling of the source.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from whorl_workloads.data import (
    TYPE,
    Event,
    Static,
    Term,
    Triple,
    data_path,
    gzip_lines,
    in_order,
    iri,
    ntriples,
    to_ms,
    typed,
)

OBSERVATIONS = "http://example.org/srbench/observations"
STATIONS = "http://example.org/srbench/stations"

SENSOR = "http://knoesis.wright.edu/ssw/"
OM = "http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
WEATHER = "http://knoesis.wright.edu/ssw/ont/weather.owl#"
OWL_TIME = "http://www.w3.org/2006/time#"
WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"


class Measured(NamedTuple):
    """A measured property: its name, the class of its observations, its unit."""

    name: str
    observation: str
    unit: str | None


# By the name of the column in lower case.
MEASURED: Mapping[str, Measured] = {
    "airtemperature": Measured("AirTemperature", "TemperatureObservation", "fahrenheit"),
    "dewpoint": Measured("DewPoint", "TemperatureObservation", "fahrenheit"),
    "soiltemperature": Measured("SoilTemperature", "TemperatureObservation", "fahrenheit"),
    "relativehumidity": Measured("RelativeHumidity", "RelativeHumidityObservation", "percentage"),
    "windspeed": Measured("WindSpeed", "WindSpeedObservation", "milesPerHour"),
    "windgust": Measured("WindGust", "WindSpeedObservation", "milesPerHour"),
    "winddirection": Measured("WindDirection", "WindDirectionObservation", "degrees"),
    "precipitation": Measured("Precipitation", "RainfallObservation", "centimeters"),
    "pressure": Measured("Pressure", "PressureObservation", None),
}
COLUMNS_2004 = (
    *("windspeed", "relativehumidity", "airtemperature", "precipitation", "dewpoint", "winddirection", "windgust"),
    *("precipitationaccumulated", "pressure", "precipitationsmoothed", "soiltemperature", "visibility"),
    *("peakwindspeed", "watertemperature", "peakwinddirection"),
)


class Station(NamedTuple):
    """A weather station; altitude in feet."""

    code: str
    altitude: str
    latitude: str
    longitude: str


def stations() -> dict[str, Station]:
    """All stations by their number in the observations."""
    rows = csv.reader(gzip_lines(data_path("srbench", "station.csv.gz")))
    return {number: Station(code, *place) for code, *place, number in rows}


def events_2004(station_count: int, until: str = "2004-08-08T12:00:00") -> list[Event]:
    """The morning of 2004-08-08 as the stations with the smallest numbers saw it, before `until`."""
    codes = {number: station.code for number, station in stations().items()}
    rows = list(csv.reader(gzip_lines(data_path("srbench", "observations-2004-08-08.csv.gz"))))
    chosen = set(sorted({row[1] for row in rows}, key=int)[:station_count])
    found = []
    for time, number, *values in rows:
        moment = time.partition(".")[0].replace(" ", "T")
        if number in chosen and moment < until:
            measured = dict(zip(COLUMNS_2004, values, strict=True))
            found.append(Event(OBSERVATIONS, to_ms(moment), tuple(observations(codes[number], moment, measured))))
    return in_order(found)


def events_of_station(code: str, count: int) -> list[Event]:
    """The first rows of a long series of one station: HP001 or AIRGL, both of 2008."""
    reader = csv.DictReader(gzip_lines(data_path("srbench", "station-series", f"{code}.csv.gz")))
    rows = [{column.lower(): value for column, value in row.items()} for row in reader]
    found = []
    for row in sorted(rows, key=lambda row: row["time"])[:count]:
        moment = row["time"].partition(".")[0].replace(" ", "T")
        found.append(Event(OBSERVATIONS, to_ms(moment), tuple(observations(code, moment, row))))
    return found


def observations(code: str, moment: str, values: Mapping[str, str]) -> Iterator[Triple]:
    """What a station measured at a moment; empty values were not measured."""
    label = datetime.fromisoformat(moment).strftime("%Y_%m_%d_%H_%M_%S")
    instant = iri(f"{SENSOR}Instant_{label}")
    station = iri(f"{SENSOR}System_{code}")
    yield instant, TYPE, iri(f"{OWL_TIME}Instant")
    yield instant, iri(f"{OWL_TIME}inXSDDateTime"), f'"{moment}"'
    for column, measured in MEASURED.items():
        value = values.get(column)
        if value:
            yield from _observation(measured, station, instant, f"{code}_{label}", value)


def _observation(measured: Measured, station: Term, instant: Term, label: str, value: str) -> Iterator[Triple]:
    observation = iri(f"{SENSOR}Observation_{measured.name}_{label}")
    result = iri(f"{SENSOR}MeasureData_{measured.name}_{label}")
    yield observation, TYPE, iri(f"{WEATHER}{measured.observation}")
    yield observation, iri(f"{OM}observedProperty"), iri(f"{WEATHER}_{measured.name}")
    yield observation, iri(f"{OM}procedure"), station
    yield observation, iri(f"{OM}result"), result
    yield observation, iri(f"{OM}samplingTime"), instant
    yield station, iri(f"{OM}generatedObservation"), observation
    yield result, TYPE, iri(f"{OM}MeasureData")
    yield result, iri(f"{OM}floatValue"), typed(value, "double")
    if measured.unit is not None:
        yield result, iri(f"{OM}uom"), iri(f"{WEATHER}{measured.unit}")


def static() -> Static:
    """Where the stations are."""
    return {STATIONS: ntriples(_locations(stations().values()))}


def _locations(known: Iterable[Station]) -> Iterator[Triple]:
    for station in known:
        if all(station):
            point = iri(f"{SENSOR}point_{station.code}")
            yield iri(f"{SENSOR}System_{station.code}"), iri(f"{OM}processLocation"), point
            yield point, TYPE, iri(f"{WGS84}Point")
            yield point, iri(f"{WGS84}alt"), typed(station.altitude, "double")
            yield point, iri(f"{WGS84}lat"), typed(station.latitude, "double")
            yield point, iri(f"{WGS84}long"), typed(station.longitude, "double")
