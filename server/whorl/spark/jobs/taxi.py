"""NYC taxi trips as three streams: pick-ups, drop-offs and fares.

A ride has a pick-up and a drop-off time; the fare is paid at the end, in a transaction that refers to the pick-up time
and not to the ride. Rows are trips in the format of the DEBS 2015 Grand Challenge, 17 columns without a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.spark.generators import taxi as generated
from whorl.spark.jobs.job import Job, Output, always, millis_of, submitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NYCTAXI = "http://example.org/nyctaxi/"
COLUMNS = (
    "medallion string, hack_license string, pickup_datetime string, dropoff_datetime string, trip_time_in_secs bigint, "
    "trip_distance string, pickup_longitude string, pickup_latitude string, dropoff_longitude string, "
    "dropoff_latitude string, payment_type string, fare_amount string, surcharge string, mta_tax string, "
    "tip_amount string, tolls_amount string, total_amount string"
)
_PREFIXES = f"PREFIX : <{NYCTAXI}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
# A taxi begins one ride at a time, so taxi and pick-up time identify it.
_KEY = 'CONCAT(?medallion, "-", REPLACE(?pickup_datetime, "[^0-9]", ""))'
_PICKUP_TIME = 'STRDT(CONCAT(REPLACE(?pickup_datetime, " ", "T"), "Z"), xsd:dateTime)'

PICKUP = f"""{_PREFIXES}CONSTRUCT {{ ?ride :taxi ?taxi ; :pickupTime ?pickupTime }}
WHERE {{
  BIND(IRI(CONCAT("{NYCTAXI}ride/", {_KEY})) AS ?ride)
  BIND(IRI(CONCAT("{NYCTAXI}taxi/", ?medallion)) AS ?taxi)
  BIND({_PICKUP_TIME} AS ?pickupTime)
}}
"""
DROPOFF = f"""{_PREFIXES}CONSTRUCT {{ ?ride :dropoffTime ?dropoffTime ; :tripTime ?trip_time_in_secs }}
WHERE {{
  BIND(IRI(CONCAT("{NYCTAXI}ride/", {_KEY})) AS ?ride)
  BIND(STRDT(CONCAT(REPLACE(?dropoff_datetime, " ", "T"), "Z"), xsd:dateTime) AS ?dropoffTime)
}}
"""
FARE = f"""{_PREFIXES}CONSTRUCT {{ ?trans :fare ?fare ; :pickupTime ?pickupTime }}
WHERE {{
  BIND(IRI(CONCAT("{NYCTAXI}trans/", {_KEY})) AS ?trans)
  BIND(STRDT(?fare_amount, xsd:decimal) AS ?fare)
  BIND({_PICKUP_TIME} AS ?pickupTime)
}}
"""


def trips(spark: SparkSession, data: str) -> DataFrame:
    """The rows of CSV files, compressed or not."""
    # A malformed row is an error that names its file; if it were dropped silently, the loss would go unnoticed.
    return spark.read.csv(data, schema=COLUMNS, mode="FAILFAST")


def at(trips: DataFrame, time: str) -> DataFrame:
    """The trips as events at one of their two times."""
    from pyspark.sql import functions as f

    moment = millis_of(f.col(time))
    return trips.select(moment.alias("t"), *(name for name in generated.SCHEMA.names if name != "t"))


def by_pickup(spark: SparkSession, data: str) -> DataFrame:
    """Trips at their pick-up times."""
    return at(trips(spark, data), "pickup_datetime")


def by_dropoff(spark: SparkSession, data: str) -> DataFrame:
    """Trips at their drop-off times."""
    return at(trips(spark, data), "dropoff_datetime")


JOB = Job(
    name="taxi",
    description="NYC taxi trips: pick-ups, drop-offs and fares as three streams",
    data="CSV files in the form of DEBS 2015: 17 columns, no header",
    outputs=always(
        Output("pickup", f"{NYCTAXI}pickup", PICKUP, generated.BY_PICKUP, by_pickup),
        Output("dropoff", f"{NYCTAXI}dropoff", DROPOFF, generated.BY_DROPOFF, by_dropoff),
        Output("fare", f"{NYCTAXI}fare", FARE, generated.BY_DROPOFF, by_dropoff),
    ),
)

if __name__ == "__main__":
    submitted(JOB.name)
