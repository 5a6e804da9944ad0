"""City sensors in the format of CityBench: traffic, car parks, air quality, weather, and the position of a user.

Each row becomes one observation per property of the sensor, with the property, the sensor and the value. The class of
the property is included, so that a query for congestion needs no list of sensors. A stream carries all sensors of a
kind; `ssn:observedBy` distinguishes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.spark.generators import city as generated
from whorl.spark.jobs.job import Job, Output, always, millis_of, submitted

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

STREAMS = "http://example.org/citybench/"
SERVICES = "http://www.insight-centre.org/dataset/SampleEventService#"
_PREFIXES = """PREFIX ssn: <http://purl.oclc.org/NET/ssnx/ssn#>
PREFIX sao: <http://purl.oclc.org/NET/sao/>
PREFIX ct: <http://www.insight-centre.org/citytraffic#>
"""
_OBSERVATION = """  ?observation a ssn:Observation ; ssn:observedBy ?by ; ssn:observedProperty ?property ;
               sao:hasValue ?value .
"""
# The class of each property, by the column of its values.
TRAFFIC = {
    "avg_speed": "AvgSpeed",
    "vehicle_count": "VehicleCount",
    "measured_time": "MeasureTime",
    "congestion": "CongestionLevel",
    "estimated_time": "EstimatedTime",
}
WEATHER = {"humidity": "Humidity", "temperature": "Temperature", "wind_speed": "WindSpeed"}
POLLUTANTS = ("ozone", "particullate_matter", "carbon_monoxide", "sulfure_dioxide", "nitrogen_dioxide")
USER_PACE_MS = 10_000


def observations(properties: dict[str, str]) -> str:
    """The mapping for sensors that observe these properties; an undefined value is no observation."""
    *others, last = properties
    value = f"?{last}"
    for column in reversed(others):
        value = f'IF(?name = "{properties[column]}", ?{column}, {value})'
    table = " ".join(f'("{name}" ct:{name})' for name in properties.values())
    return f"""{_PREFIXES}CONSTRUCT {{
{_OBSERVATION}  ?property a ?class .
}}
WHERE {{
  VALUES (?name ?class) {{ {table} }}
  BIND({value} AS ?value)
  FILTER(BOUND(?value))
  BIND(IRI(CONCAT("{SERVICES}", ?sensor)) AS ?by)
  BIND(IRI(CONCAT("{SERVICES}", ?sensor, "-", ?name)) AS ?property)
  BIND(IRI(CONCAT("{SERVICES}", ?sensor, "-", ?name, "-", STR(?t))) AS ?observation)
}}
"""


USERS = f"""{_PREFIXES}CONSTRUCT {{
{_OBSERVATION}  ?value ct:hasLatitude ?latitude ; ct:hasLongitude ?longitude .
}}
WHERE {{
  BIND(IRI(CONCAT("{SERVICES}", ?sensor)) AS ?by)
  BIND(IRI("{SERVICES}locationProperty") AS ?property)
  BIND(IRI(CONCAT("{SERVICES}location-", STR(?t))) AS ?observation)
  BIND(IRI(CONCAT("{SERVICES}place-", STR(?t))) AS ?value)
}}
"""


def rows(files: str, schema: pa.Schema, time: str, **columns: str) -> Callable[[SparkSession, str], DataFrame]:
    """Files of one kind: the sensor is the name of the file, the other columns are expressions over its header."""

    def load(spark: SparkSession, data: str) -> DataFrame:
        from pyspark.sql import functions as f

        read = spark.read.csv(f"{data}/{files}", header=True)
        moment = millis_of(f.col(time))
        values = [f.expr(columns[name]).cast(_type(schema, name)).alias(name) for name in schema.names[2:]]
        return read.select(moment.alias("t"), _sensor().alias("sensor"), *values)

    return load


def traffic(spark: SparkSession, data: str) -> DataFrame:
    """Traffic with the lengths of the roads, from trafficMetaData.csv."""
    from pyspark.sql import functions as f

    roads = spark.read.csv(f"{data}/trafficMetaData.csv", header=True).select(
        "REPORT_ID", f.col("DISTANCE_IN_METERS").cast("double").alias("metres")
    )
    read = spark.read.csv(f"{data}/*TrafficData*.stream", header=True).withColumn("sensor", _sensor())
    located = read.join(f.broadcast(roads), "REPORT_ID", "left")
    speed, vehicles = f.col("avgSpeed").cast("double"), f.col("vehicleCount").cast("double")
    return located.select(
        millis_of(f.col("TIMESTAMP")).alias("t"),
        "sensor",
        speed.alias("avg_speed"),
        vehicles.alias("vehicle_count"),
        f.col("avgMeasuredTime").cast("double").alias("measured_time"),
        f.try_divide(vehicles, f.col("metres")).alias("congestion"),
        f.try_divide(f.col("metres"), speed).alias("estimated_time"),
    )


def users(spark: SparkSession, data: str) -> DataFrame:
    """Lines `user|latitude,longitude` without times: six to a minute."""
    from pyspark.sql import functions as f

    lines = spark.read.text(f"{data}/UserLocationService.stream").coalesce(1)
    numbered = lines.select(f.monotonically_increasing_id().alias("line"), f.split("value", "[|,]").alias("part"))
    return numbered.select(
        (generated.START_MS + f.col("line") * USER_PACE_MS).alias("t"),
        f.lit("UserLocationService").alias("sensor"),
        f.col("part")[1].cast("double").alias("latitude"),
        f.col("part")[2].cast("double").alias("longitude"),
    )


def _sensor() -> Column:
    from pyspark.sql import functions as f

    return f.regexp_extract(f.input_file_name(), r"([^/]+)\.stream", 1)


def _type(schema: pa.Schema, name: str) -> str:
    return "bigint" if str(schema.field(name).type) == "int64" else "double"


JOB = Job(
    name="city",
    description="sensors of a city: traffic, car parks, air, weather, a user's way, as CityBench has them",
    data="Aarhus*.stream and UserLocationService.stream of CityBench, with trafficMetaData.csv",
    outputs=always(
        Output("traffic", f"{STREAMS}traffic", observations(TRAFFIC), generated.TRAFFIC_GENERATOR, traffic),
        Output(
            "parking",
            f"{STREAMS}parking",
            observations({"vacancy": "ParkingVacancy"}),
            generated.PARKING_GENERATOR,
            rows(
                "*ParkingData*.stream",
                generated.PARKING,
                "updatetime",
                vacancy="cast(totalspaces as bigint) - cast(vehiclecount as bigint)",
            ),
        ),
        Output(
            "pollution",
            f"{STREAMS}pollution",
            observations({"api": "API"}),
            generated.POLLUTION_GENERATOR,
            rows(
                "*PollutionData*.stream",
                generated.POLLUTION,
                "timestamp",
                api=f"greatest({', '.join(f'cast({name} as double)' for name in POLLUTANTS)})",
            ),
        ),
        Output(
            "weather",
            f"{STREAMS}weather",
            observations(WEATHER),
            generated.WEATHER_GENERATOR,
            rows(
                "*WeatherData*.stream",
                generated.WEATHER,
                "TIMESTAMP",
                humidity="hum",
                temperature="tempm",
                wind_speed="wspdm",
            ),
        ),
        Output("users", f"{STREAMS}users", USERS, generated.USER_GENERATOR, users),
    ),
)

if __name__ == "__main__":
    submitted(JOB.name)
