"""Public workloads through the loaders of the tests: SRBench, LSBench, the taxi trips of DEBS 2015."""

from __future__ import annotations

from functools import cache

from whorl_workloads import debs2015 as trips
from whorl_workloads import lsbench as network
from whorl_workloads import srbench as weather
from whorl_workloads.data import Event, in_order

from whorl_bench.case import Case
from whorl_bench.sources.texts import case, query_of
from whorl_bench.workload import Parameters

_DAY = "2010-02-02T"


def srbench(parameters: Parameters) -> Case:
    """Weather of many stations, or the minutes of one."""
    if "station" in parameters:
        events = weather.events_of_station(parameters["station"], _wanted(parameters))
    else:
        events = weather.events_2004(int(parameters.get("stations", 120)))
    return case(parameters, events, _stations(), [query_of(parameters)])


def lsbench(parameters: Parameters) -> Case:
    """A day of the network, or some hours; `photos` for the queries that read them."""
    since, until = f"{_DAY}{parameters.get('since', '00:00')}:00", f"{_DAY}{parameters.get('until', '23:00')}:00"
    events = _network(since, until, photos=bool(parameters.get("photos")))
    query = query_of(parameters)
    return case(parameters, [event for event in events if _reads(query.text, event)], _friends(), [query])


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
    events = _trips(int(parameters.get("one_taxi_in", 1)), file)
    queries = [query_of({**parameters, "query": f"debs2015/{name}.cqels"}) for name in parameters["queries"]]
    return case(parameters, events, {}, queries)


@cache
def _trips(one_taxi_in: int, file: str) -> list[Event]:
    return in_order(trips.events(one_taxi_in, file))


def _wanted(parameters: Parameters) -> int:
    return int(parameters.get("warm", 0)) + int(parameters["events"])
