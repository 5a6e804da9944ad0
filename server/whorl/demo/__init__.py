"""The demo: a small building with sensors and people, a static graph of its rooms, and a gallery of queries.

`world.py` makes the events, the same for the same seed; `queries.py` knows the queries; `player.py` plays both into a
server.
"""

NAMESPACE = "http://whorl.example/"
SENSORS = NAMESPACE + "sensors"
PEOPLE = NAMESPACE + "people"
BUILDING = NAMESPACE + "building"
# Readings come up to a second late as a rule. A few come later than this, and are counted as late.
LATENESS_MS = 2_000
