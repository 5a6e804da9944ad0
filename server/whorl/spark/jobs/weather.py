"""Weather stations in the format of SRBench: one event per station and instant, with its measurements.

An observation has a class, a property, a station, a sampling time and a result with value and unit, in the vocabulary
of LinkedSensorData; the queries in examples/srbench run on it as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.spark.generators import weather as generated
from whorl.spark.jobs.job import Job, Output, always, millis_of, submitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OBSERVATIONS = "http://example.org/srbench/observations"
SENSOR = "http://knoesis.wright.edu/ssw/"
# The column, the name of the property, the class of its observations, and the unit. The unit of pressure is unknown.
PROPERTIES = (
    ("airtemperature", "AirTemperature", "TemperatureObservation", "weather:fahrenheit"),
    ("dewpoint", "DewPoint", "TemperatureObservation", "weather:fahrenheit"),
    ("soiltemperature", "SoilTemperature", "TemperatureObservation", "weather:fahrenheit"),
    ("relativehumidity", "RelativeHumidity", "RelativeHumidityObservation", "weather:percentage"),
    ("windspeed", "WindSpeed", "WindSpeedObservation", "weather:milesPerHour"),
    ("windgust", "WindGust", "WindSpeedObservation", "weather:milesPerHour"),
    ("winddirection", "WindDirection", "WindDirectionObservation", "weather:degrees"),
    ("precipitation", "Precipitation", "RainfallObservation", "weather:centimeters"),
    ("pressure", "Pressure", "PressureObservation", "UNDEF"),
)
# The columns of a day of observations, which has no header.
COLUMNS = (
    "time string, number string, windspeed double, relativehumidity double, airtemperature double, "
    "precipitation double, dewpoint double, winddirection double, windgust double, precipitationaccumulated double, "
    "pressure double, precipitationsmoothed double, soiltemperature double, visibility double, peakwindspeed double, "
    "watertemperature double, peakwinddirection double"
)
STATION_COLUMNS = "station string, altitude string, latitude string, longitude string, number string"


def mapping() -> str:
    """The mapping: one solution per property of a row; missing values yield no observation."""
    table = "\n".join(f'    ("{name}" weather:{kind} weather:_{name} {unit})' for _, name, kind, unit in PROPERTIES)
    value = "?pressure"
    for column, name, *_ in PROPERTIES[-2::-1]:
        value = f'IF(?name = "{name}", ?{column}, {value})'
    return f"""PREFIX om: <{SENSOR}ont/sensor-observation.owl#>
PREFIX weather: <{SENSOR}ont/weather.owl#>
PREFIX time: <http://www.w3.org/2006/time#>
CONSTRUCT {{
  ?observation a ?class ; om:observedProperty ?property ; om:procedure ?system ; om:result ?result ;
               om:samplingTime ?instant .
  ?system om:generatedObservation ?observation .
  ?result a om:MeasureData ; om:floatValue ?value ; om:uom ?unit .
  ?instant a time:Instant ; time:inXSDDateTime ?moment .
}}
WHERE {{
  VALUES (?name ?class ?property ?unit) {{
{table}
  }}
  BIND({value} AS ?value)
  FILTER(BOUND(?value))
  BIND(REPLACE(?moment, "[^0-9]", "_") AS ?label)
  BIND(IRI(CONCAT("{SENSOR}System_", ?station)) AS ?system)
  BIND(IRI(CONCAT("{SENSOR}Instant_", ?label)) AS ?instant)
  BIND(IRI(CONCAT("{SENSOR}Observation_", ?name, "_", ?station, "_", ?label)) AS ?observation)
  BIND(IRI(CONCAT("{SENSOR}MeasureData_", ?name, "_", ?station, "_", ?label)) AS ?result)
}}
"""


def observations(spark: SparkSession, data: str) -> DataFrame:
    """A day of observations from a directory, with the codes of its stations."""
    from pyspark.sql import functions as f

    read = spark.read.option("mode", "FAILFAST").csv
    stations = read(f"{data}/station.csv*", schema=STATION_COLUMNS).select("number", "station")
    rows = read(f"{data}/observations-*.csv*", schema=COLUMNS).join(f.broadcast(stations), "number")
    moment = f.translate(f.substring("time", 1, 19), " ", "T")
    return rows.select(millis_of(moment).alias("t"), moment.alias("moment"), "station", *generated.MEASURED)


JOB = Job(
    name="weather",
    description="weather stations: temperature, wind, rain and more, as SRBench has them",
    data="observations-*.csv (time, station number, 15 values) and station.csv (code, altitude, position, number)",
    outputs=always(Output("observations", OBSERVATIONS, mapping(), generated.GENERATOR, observations)),
)

if __name__ == "__main__":
    submitted(JOB.name)
