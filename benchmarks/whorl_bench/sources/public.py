"""Public workloads through the loaders of the tests: SRBench, LSBench, the taxi trips of DEBS 2015."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from whorl_workloads import debs2015 as trips
from whorl_workloads import lsbench as network
from whorl_workloads import srbench as weather
from whorl_workloads.data import Event, in_order, iri, typed

from whorl_bench.case import Case
from whorl_bench.sources.texts import case, query_of
from whorl_bench.workload import Parameters

# All ten days of the generator's posts; there are more photos, so a workload uses some hours of them.
_FIRST, _END = "2010-02-01T00:00", "2010-02-11T00:00"
# The duration of the derived trips, after which the next copy begins.
_PERIOD_MS = 75 * 60_000


def srbench(parameters: Parameters) -> Case:
    """Weather of many stations, or the minutes of one."""
    if "station" in parameters:
        events = weather.events_of_station(parameters["station"], _wanted(parameters))
    else:
        events = weather.events_2004(int(parameters.get("stations", 120)))
    return case(parameters, events, _stations(), [query_of(parameters)])


def lsbench(parameters: Parameters) -> Case:
    """The network from `since` to `until`; `photos` for the queries that read them, `each_triple` as an event."""
    since, until = f"{parameters.get('since', _FIRST)}:00", f"{parameters.get('until', _END)}:00"
    query = query_of(parameters)
    loaded = _network(since, until, photos=bool(parameters.get("photos")))
    events = [event for event in loaded if _reads(query.text, event)]
    if parameters.get("each_triple"):
        events = [event._replace(triples=(triple,)) for event in events for triple in event.triples]
    return case(parameters, events, _friends(), [query])


@cache
def _network(since: str, until: str, *, photos: bool) -> list[Event]:
    load = network.photos if photos else network.posts
    return load(since, until, network.Likes(until))


_friends = cache(network.static)
_stations = cache(weather.static)


def _reads(text: str, event: Event) -> bool:
    """Whether the query names the stream of the event."""
    return f":{event.stream.rpartition('/')[2]} " in text


def debs2015(parameters: Parameters) -> Case:
    """Taxi trips; both queries together with `both`."""
    file = parameters.get("file", trips.REAL)
    events = _trips(int(parameters.get("one_taxi_in", 1)), file, int(parameters.get("copies", 1)))
    queries = [query_of({**parameters, "query": f"debs2015/{name}.cqels"}) for name in parameters["queries"]]
    return case(parameters, events, {}, queries)


@cache
def _trips(one_taxi_in: int, file: str, copies: int) -> list[Event]:
    """The trips of some taxis; beyond the file, of other taxis at the same minutes of the next period."""
    found = in_order(trips.events(one_taxi_in, file))
    for copy in range(1, copies):
        more = trips.events(one_taxi_in, file, first=copy % one_taxi_in)
        found += in_order(_later(event, copy) for event in more)
    return found


def _later(event: Event, copy: int) -> Event:
    """A copy of the trip, some periods later; only its drop-off is read."""
    end, subject = iri(f"{trips.VOCABULARY}dropoffTime"), f"{event.triples[0][0][:-1]}-{copy}>"
    t = event.t + copy * _PERIOD_MS
    moved = {end: typed(datetime.fromtimestamp(t / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "dateTime")}
    return Event(event.stream, t, tuple((subject, p, moved.get(p, o)) for _, p, o in event.triples))


def _wanted(parameters: Parameters) -> int:
    return int(parameters.get("warm", 0)) + int(parameters["events"])
