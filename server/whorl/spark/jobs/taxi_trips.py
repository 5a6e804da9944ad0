"""NYC taxi trips as one stream: a graph per trip, at its drop-off time.

The vocabulary is the one of the queries in examples/debs2015.
"""

from __future__ import annotations

from whorl.spark.generators import taxi as generated
from whorl.spark.jobs.job import Job, Output, always, submitted
from whorl.spark.jobs.taxi import by_dropoff

DEBS = "http://example.org/debs2015/"
MAPPING = f"""PREFIX : <{DEBS}>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
CONSTRUCT {{
  ?trip :taxi ?medallion ;
        :pickupTime ?pickupTime ; :dropoffTime ?dropoffTime ;
        :pickLon ?pickLon ; :pickLat ?pickLat ; :dropLon ?dropLon ; :dropLat ?dropLat ;
        :fare ?fare ; :tip ?tip
}}
WHERE {{
  BIND(IRI(CONCAT("{DEBS}trip/", ?medallion, "-", REPLACE(?pickup_datetime, "[^0-9]", ""))) AS ?trip)
  BIND(STRDT(CONCAT(REPLACE(?pickup_datetime, " ", "T"), "Z"), xsd:dateTime) AS ?pickupTime)
  BIND(STRDT(CONCAT(REPLACE(?dropoff_datetime, " ", "T"), "Z"), xsd:dateTime) AS ?dropoffTime)
  BIND(STRDT(?pickup_longitude, xsd:decimal) AS ?pickLon)
  BIND(STRDT(?pickup_latitude, xsd:decimal) AS ?pickLat)
  BIND(STRDT(?dropoff_longitude, xsd:decimal) AS ?dropLon)
  BIND(STRDT(?dropoff_latitude, xsd:decimal) AS ?dropLat)
  BIND(STRDT(?fare_amount, xsd:decimal) AS ?fare)
  BIND(STRDT(?tip_amount, xsd:decimal) AS ?tip)
}}
"""

JOB = Job(
    name="taxi-trips",
    description="NYC taxi trips: one graph for each trip, at its drop-off",
    data="CSV files in the form of DEBS 2015: 17 columns, no header",
    outputs=always(Output("trips", f"{DEBS}trips", MAPPING, generated.BY_DROPOFF, by_dropoff)),
)

if __name__ == "__main__":
    submitted(JOB.name)
