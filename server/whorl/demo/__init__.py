"""The demo: a building with sensors and people, a static graph of its rooms, taxis, and a gallery of queries.

`world.py` and `taxis.py` generate the events, the same for the same seed; `queries.py` has the queries; `player.py`
sends all of it to a server.
"""

NAMESPACE = "http://whorl.example/"
SENSORS = NAMESPACE + "sensors"
PEOPLE = NAMESPACE + "people"
BUILDING = NAMESPACE + "building"
TAXI = NAMESPACE + "taxi/"
PICKUPS = TAXI + "pickups"
DROPOFFS = TAXI + "dropoffs"
FARES = TAXI + "fares"
# Most readings are at most a second late. A few exceed the allowed lateness and are counted as late.
LATENESS_MS = 2_000
