"""The data of the server's benchmarks: readings of sensors in rooms, as N-Quads bodies, and the joins over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAM = "http://example.org/readings"
TRIPLES_PER_EVENT = 3
SENSORS = 997
_EX = "http://example.org/"
_STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
_DATE_TIME = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"
_INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


def event(number: int, step_ms: int) -> str:
    """One reading: its sensor, its value, the room of the sensor, and its time."""
    at_s, ms = divmod(number * step_ms, 1000)
    clock = f"{at_s // 3600:02}:{at_s // 60 % 60:02}:{at_s % 60:02}.{ms:03}Z"
    graph, reading, sensor = f"<{_EX}e/{number}>", f"<{_EX}o/{number}>", f"<{_EX}s/{number % SENSORS}>"
    return (
        f'{graph} {_STAMP} "1970-01-01T{clock}"{_DATE_TIME} .\n'
        f"{reading} <{_EX}madeBy> {sensor} {graph} .\n"
        f'{reading} <{_EX}value> "{number * 7919 % 100_003}"{_INTEGER} {graph} .\n'
        f"{sensor} <{_EX}in> <{_EX}r/{number % SENSORS % 31}> {graph} .\n"
    )


def bodies(events: int, step_ms: int, bytes_about: int = 1024 * 1024) -> Iterator[tuple[int, bytes]]:
    """The events in bodies of about this size, each with its number of events."""
    lines: list[str] = []
    size = 0
    for number in range(events):
        lines.append(event(number, step_ms))
        size += len(lines[-1])
        if size >= bytes_about:
            yield len(lines), "".join(lines).encode()
            lines, size = [], 0
    if lines:
        yield len(lines), "".join(lines).encode()


def query(head: str, range_: str, step: str, where: str = "") -> str:
    """A join of three patterns in one window."""
    window = f"FROM NAMED WINDOW :w ON <{STREAM}> [RANGE {range_} STEP {step}]"
    pattern = "?o :madeBy ?s . ?o :value ?v . ?s :in ?r"
    return f"PREFIX : <{_EX}> SELECT {head} {window} WHERE {{ WINDOW :w {{ {pattern} }} {where} }}"
