"""Rooms and their temperatures: the warmest reading per room every ten seconds, and fire alarms as they happen."""

from __future__ import annotations

from whorl import Engine

ROOMS = """
PREFIX : <http://example.org/>
SELECT ?room (MAX(?t) AS ?max) (AVG(?t) AS ?mean)
FROM NAMED WINDOW :w ON :sensors [RANGE 10s STEP 10s]
WHERE { WINDOW :w { ?room :temperature ?t } }
GROUP BY ?room
"""

ALARMS = """
PREFIX : <http://example.org/>
SELECT ?room ?t
WHERE { STREAM :sensors [RANGE 5s] { ?room :temperature ?t . ?room :smoke ?s } FILTER(?t > 40 && ?s > 2) }
"""


def main() -> None:
    engine = Engine()
    rooms = engine.register(ROOMS, "rooms")
    alarms = engine.register(ALARMS, "alarms")
    sensors, room = "http://example.org/sensors", "http://example.org/kitchen"
    readings = [(1, 21, 0), (4, 22, 0), (9, 35, 1), (12, 44, 3), (14, 51, 6), (19, 30, 1)]
    for second, temperature, smoke in readings:
        event = [
            (room, "http://example.org/temperature", temperature),
            (room, "http://example.org/smoke", smoke),
        ]
        engine.push(sensors, second * 1000, event)
        for row in alarms.rows():
            print(f"{second:>3} s  alarm in {row['room']}: {row['t']} °C")
    engine.close()
    for result in rooms:
        for row in result.rows:
            print(f"{result.at // 1000:>3} s  {row['room']}: at most {row['max']} °C, on average {row['mean']} °C")


if __name__ == "__main__":
    main()
