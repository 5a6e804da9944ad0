"""The blocking client.

Generated from `_async_client` by `clients/python/generate_sync.py`: edit that file and run `make client-sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self, TypeVar, Unpack, cast, overload
from weakref import WeakSet

import httpx

from . import _protocol as protocol
from ._flow import Call, Failed, Flow, Request, Response, Server, Sleep, perform
from ._payload import Format, body_of
from ._publishing import Outbox, new_epoch
from ._subscription import SubscribeOptions
from ._subscription import Subscription as SubscriptionCore
from ._sync_io import NotebookQuery, begun, sleep
from ._sync_resources import Graphs, Tokens
from ._sync_subscription import Subscription
from ._transport import failed_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ssl import SSLContext
    from types import TracebackType

    from ._json import JsonObject
    from ._keywords import QueryKeywords, StreamKeywords, SubscribeKeywords
    from ._models import (
        Ack,
        Answer,
        Gap,
        Plan,
        QueryInfo,
        Result,
        StreamInfo,
        Time,
        Validation,
        Why,
    )
    from ._subscription import OnGap, RaiseGap

T = TypeVar("T")


class Client:
    """A connection to a Whorl server.

    >>> text = '''PREFIX : <http://example.org/>
    ...     SELECT ?room ?t FROM NAMED WINDOW :w ON :thermometers [RANGE 10s STEP 10s]
    ...     WHERE { WINDOW :w { ?room :temperature ?t FILTER(?t > 25) } }'''
    >>> with Client(url) as client:
    ...     sensors = client.streams.create("http://example.org/thermometers")
    ...     hot = client.register(text, name="hot-rooms")
    ...     with hot.subscribe(limit=1) as results:
    ...         ack = sensors.send("<urn:lab> <http://example.org/temperature> 31 .", t=1_000)
    ...         watermark = sensors.watermark(10_001)
    ...         for result in results:
    ...             print(result.time, result.rows)
    1970-01-01 00:00:10+00:00 [{'room': Iri('urn:lab'), 't': 31}]

    `token` is the server's token; by default, the fragment of `url` or the variable `WHORL_TOKEN`. `timeout_s` bounds
    each attempt of a request, and `patience_s` how long the client waits for a server that went away. `ssl` is a
    context for `https`.
    """

    def __init__(
        self,
        url: str = "http://localhost:8080",
        token: str | None = None,
        *,
        timeout_s: float = 30.0,
        patience_s: float = 60.0,
        ssl: SSLContext | None = None,
    ) -> None:
        self._server = Server(url, token, patience_s)
        self._timeout_s = timeout_s
        self._ssl = ssl
        timeout = httpx.Timeout(timeout_s, connect=min(5.0, timeout_s))
        # Certificates take as long to load as many requests; plain HTTP needs none.
        self._http = httpx.Client(timeout=timeout, verify=ssl or self._server.url.startswith("https:"))
        self._subscriptions: WeakSet[Subscription[Result | Gap]] = WeakSet()
        self.streams = Streams(self)
        self.queries = Queries(self)
        self.graphs = Graphs(self)
        self.tokens = Tokens(self)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._server.url

    def __repr__(self) -> str:
        """The address, without the token."""
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        """Enter `with`, which closes the client at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close all connections and subscriptions."""
        for subscription in list(self._subscriptions):
            subscription.close()
        self._http.close()

    def status(self) -> JsonObject:
        """Return the service document: what the server is, and what it holds."""
        return self._do(protocol.read_status())

    def metrics(self) -> str:
        """Return the numbers of the server, in the text format of Prometheus."""
        return self._do(protocol.read_metrics())

    def stream(self, iri: str) -> Stream:
        """Refer to a stream by its IRI; this sends nothing."""
        return Stream(self, iri)

    def query(self, name: str) -> Query:
        """Refer to a registered query by its name; this sends nothing. Query text goes to `register` or `sparql`.

        >>> client.query("SELECT ?room { ?room a <urn:Room> }")
        Traceback (most recent call last):
        ValueError: this is query text, not a query name; call register(text) to start it or sparql(text) to run it once
        """
        return Query(self, name)

    def register(
        self, text: str, name: str | None = None, *, replace: bool = False, **options: Unpack[QueryKeywords]
    ) -> Query:
        """Start a continuous query: see `queries.register`."""
        return self.queries.register(text, name, replace=replace, **options)

    def publisher(
        self,
        stream: str,
        producer: str,
        *,
        epoch: int | None = None,
        seq: int = 0,
        batch_events: int = 500,
        batch_bytes: int = 1024 * 1024,
    ) -> Publisher:
        """Create a producer of events; the server applies each of its batches once, however often it is sent.

        A new publisher replaces older ones of the same name: its epoch is the current time. A program that stores
        `epoch` and `seq` (see `Publisher.place`) can resume after its own crash without duplicates.

        >>> doors = client.streams.create("http://example.org/doors")
        >>> with client.publisher("http://example.org/doors", producer="gateway-7", epoch=1) as publisher:
        ...     for second in range(3):
        ...         publisher.send("<urn:door> <urn:opens> 1 .", t=second * 1000)
        >>> publisher.total.accepted, publisher.place
        (3, (1, 1))
        """
        life = new_epoch() if epoch is None else epoch
        return Publisher(self, Outbox(self._server, stream, producer, life, seq, batch_events, batch_bytes))

    @overload
    def subscribe(
        self,
        query: str | Query,
        from_: str = "latest",
        *,
        on_gap: RaiseGap = "raise",
        **options: Unpack[SubscribeKeywords],
    ) -> Subscription[Result]: ...

    @overload
    def subscribe(
        self,
        query: str | Query,
        from_: str = "latest",
        *,
        on_gap: Literal["yield"],
        **options: Unpack[SubscribeKeywords],
    ) -> Subscription[Result | Gap]: ...

    def subscribe(
        self,
        query: str | Query,
        from_: str = "latest",
        *,
        on_gap: OnGap = "raise",
        **options: Unpack[SubscribeKeywords],
    ) -> Subscription[Result | Gap]:
        """Follow a query: each result once, across lost connections and restarts of the server.

        `from_` is `latest` (only new results), `earliest` (all that the server still has) or the token of a result.
        `snapshot=True` starts with the current result. The subscription ends after `limit` results, when event time
        has passed `until`, or when the query is deleted; `timeout_s` limits the wait for one result. If results are
        lost, it raises `GapError`, yields a `Gap` between the results (`on_gap="yield"`), or calls a function.
        `on_progress` is a function that it calls with `Progress` as event time passes. With `raw=True`,
        rows are SPARQL JSON. At most `credit` results are in flight; `overflow` (`disconnect`, `drop-oldest`,
        `latest`) tells the server what to do with a slow reader.

        Once `with` has entered the subscription, it misses nothing that is sent afterwards. `Client.subscribe`
        waits for that before it returns; `AsyncClient.subscribe` starts with the first iteration.
        """
        name = query if isinstance(query, str) else query.name
        return self._subscribed(SubscribeOptions(name, from_, on_gap=on_gap, **options))

    @overload
    def follow(
        self,
        text: str,
        query_options: QueryKeywords | None = None,
        *,
        on_gap: RaiseGap = "raise",
        **options: Unpack[SubscribeKeywords],
    ) -> Subscription[Result]: ...

    @overload
    def follow(
        self,
        text: str,
        query_options: QueryKeywords | None = None,
        *,
        on_gap: Literal["yield"],
        **options: Unpack[SubscribeKeywords],
    ) -> Subscription[Result | Gap]: ...

    def follow(
        self,
        text: str,
        query_options: QueryKeywords | None = None,
        *,
        on_gap: OnGap = "raise",
        **options: Unpack[SubscribeKeywords],
    ) -> Subscription[Result | Gap]:
        """Run a continuous query for as long as this subscription lasts, and follow its results.

        The query has no name and belongs to the connection: it ends with the subscription, with the program, however
        that ends, and with the server. If the connection is lost, the query restarts with empty windows, which
        is a gap. `query_options` are those of `register`, the others those of `subscribe`.

        >>> lights = client.streams.create("http://example.org/lights")
        >>> text = '''PREFIX : <http://example.org/>
        ...     SELECT ?x FROM NAMED WINDOW :w ON :lights [RANGE 1s] WHERE { WINDOW :w { ?x :is ?y } }'''
        >>> with client.follow(text, {"semantics": "bag"}) as results:
        ...     results.variables
        ('x',)
        """
        chosen = protocol.query_members(query_options or {})
        return self._subscribed(SubscribeOptions("follow", text=text, query_options=chosen, on_gap=on_gap, **options))

    def _subscribed(self, wanted: SubscribeOptions) -> Subscription[Result | Gap]:
        core = SubscriptionCore(self._server, wanted)
        subscription: Subscription[Result | Gap] = Subscription(core, self._timeout_s, self._ssl)
        self._subscriptions.add(subscription)
        return begun(subscription)

    def sparql(self, text: str, *, raw: bool = False) -> Answer:
        """Run an ad-hoc query over the static graphs and the current windows.

        >>> client.update("INSERT DATA { <urn:lab> <urn:floor> 1 }")
        >>> for row in client.sparql("SELECT ?room ?floor { ?room <urn:floor> ?floor }"):
        ...     print(row["room"], row.value("floor", int))
        urn:lab 1
        """
        return self._do(protocol.ask_sparql(text, raw=raw))

    def update(self, text: str) -> None:
        """Change static graphs by SPARQL Update; running queries see the change at their next evaluation."""
        self._do(protocol.update_sparql(text))

    def _do(self, call: Call[T]) -> T:
        return self._run(perform(self._server, call))

    def _run(self, flow: Flow[T]) -> T:
        """Do what a flow asks for until it returns."""
        reply: Response | Failed | None = None
        while True:
            try:
                wanted = flow.send(reply)
            except StopIteration as stop:
                return cast("T", stop.value)
            if isinstance(wanted, Sleep):
                sleep(wanted.seconds)
                reply = None
            else:
                reply = self._request(wanted)

    def _request(self, wanted: Request) -> Response | Failed:
        try:
            response = self._http.request(
                wanted.method, wanted.url, params=wanted.params, headers=wanted.headers, content=wanted.content
            )
        except httpx.TransportError as error:
            return failed_of(error)
        return Response(response.status_code, response.headers, response.content)


class Streams:
    """The streams of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, iri: str, **options: Unpack[StreamKeywords]) -> Stream:
        """Declare a stream. Declaring it again with the same settings changes nothing.

        `lateness`, `idle_timeout` and `retention` are milliseconds or text such as `"10s"`. `timestamp_predicate` finds
        the time of an event in its data, and `assume_zone` (`"Z"`, `"+02:00"`, `"Europe/Paris"`) is the zone of times
        that have none; `time="arrival"` stamps events on arrival.

        >>> client.streams.create("http://example.org/late", lateness="5s")
        Stream('http://example.org/late')
        """
        self._client._do(protocol.create_stream(iri, options))
        return Stream(self._client, iri)

    def list(self) -> list[StreamInfo]:
        """List all streams."""
        return self._client._do(protocol.list_streams())

    def get(self, iri: str) -> StreamInfo:
        """Describe a stream: settings, counts, watermark."""
        return self._client._do(protocol.get_stream(iri))

    def delete(self, iri: str, *, cascade: bool = False) -> None:
        """Delete a stream; with `cascade`, also the queries that read it."""
        self._client._do(protocol.delete_stream(iri, cascade=cascade))


class Stream:
    """One stream."""

    def __init__(self, client: Client, iri: str) -> None:
        self._client = client
        self.iri = iri

    def __repr__(self) -> str:
        """Its IRI."""
        return f"{type(self).__name__}({self.iri!r})"

    def send(
        self,
        data: object,
        t: Time | None = None,
        *,
        format: Format | None = None,
        atomic: bool = True,
        producer: str | None = None,
    ) -> Ack:
        """Send one event or many; returns when they are on the server's disk.

        `data`: Turtle (or text in `format`), triples, an rdflib graph, a JSON-LD dict, a data frame or Arrow table, or
        a list of `Event`. `t` is the time of one event: milliseconds or an aware datetime. If the connection breaks
        before the reply arrives, this raises, and the events may or may not have been applied. A `publisher` avoids
        that; so does a caller who numbers what it sends (`producer="id;epoch;seq"`): the client then sends it again,
        and the server applies it once.

        >>> meters = client.streams.create("http://example.org/meters")
        >>> ack = meters.send("<urn:a> <urn:p> 1 .", t=1_000)
        >>> more = meters.send([Event("<urn:a> <urn:p> 2 .", t=2_000), Event({"@id": "urn:b"}, t=3_000)])
        >>> ack.accepted, more.accepted
        (1, 2)
        """
        call = protocol.send(self.iri, body_of(data, format), t, atomic=atomic, producer=producer)
        return self._client._do(call)

    def info(self) -> StreamInfo:
        """Describe it."""
        return self._client._do(protocol.get_stream(self.iri))

    def watermark(self, t: Time) -> int | None:
        """Declare that no event before `t` will follow; returns the watermark."""
        return self._client._do(protocol.advance_stream(self.iri, t))

    def close(self) -> int | None:
        """Declare that no event will follow; returns the watermark."""
        return self._client._do(protocol.close_stream(self.iri))

    def reopen(self) -> None:
        """Reopen a closed stream. The queries that read it restart, which you must be allowed to do for each."""
        self._client._do(protocol.reopen_stream(self.iri))

    def mapping(self, construct: str, *, time_column: str = "t") -> None:
        """Map rows of data frames to triples by a CONSTRUCT whose variables are column names."""
        self._client._do(protocol.map_stream(self.iri, construct, time_column))

    def stage(self, data: object, *, format: Format | None = None) -> str:
        """Store events that stay invisible until a `commit` names the returned token; without one, they expire."""
        return self._client._do(protocol.stage(self.iri, body_of(data, format)))

    def commit(self, producer: str, batch: int, tokens: Sequence[str], *, watermark: Time | None = None) -> Ack:
        """Make staged events visible atomically, in time order.

        The batches of a producer count up; committing one again changes nothing and returns `duplicates`. `watermark`
        declares in the same step that no event before it will follow.
        """
        return self._client._do(protocol.commit(self.iri, producer, batch, tokens, watermark))

    def delete(self, *, cascade: bool = False) -> None:
        """Delete it; with `cascade`, also the queries that read it."""
        self._client._do(protocol.delete_stream(self.iri, cascade=cascade))


class Publisher:
    """Sends events in batches that the server applies once each. As a context manager, it flushes at the end.

    `send` returns immediately until a batch is full, then waits until the server has stored it: a busy server slows the
    program down, and nothing is dropped. `flush` sends what is buffered.
    """

    def __init__(self, client: Client, outbox: Outbox) -> None:
        self._client = client
        self._outbox = outbox

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and number of the next batch, to store for a resumption after a crash."""
        return self._outbox.epoch, self._outbox.next_seq

    @property
    def total(self) -> Ack:
        """The acknowledgements so far, added up."""
        return self._outbox.total

    @property
    def waiting(self) -> int:
        """The number of buffered events."""
        return self._outbox.waiting

    def __enter__(self) -> Self:
        """Enter `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flush, unless an exception is propagating."""
        if kind is None:
            self.flush()

    def send(self, data: object, t: Time | None = None) -> None:
        """Buffer one event (text, triples, a graph, a JSON-LD dict), a list of `Event`, or a data frame."""
        if self._outbox.add(data, t):
            self.flush()

    def watermark(self, t: Time) -> None:
        """Declare, in order with the events, that none before `t` will follow; and flush."""
        self._outbox.add_watermark(t)
        self.flush()

    def flush(self) -> Ack:
        """Send what is buffered; returns when it is on the server's disk."""
        return self._client._run(self._outbox.flush())


class Queries:
    """The queries of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def register(
        self, text: str, name: str | None = None, *, replace: bool = False, **options: Unpack[QueryKeywords]
    ) -> Query:
        """Start a continuous query; the server names it if you do not. Registering it again unchanged does nothing.

        With `replace`, another text replaces the query of this name; its subscriptions continue after a gap. Raises
        `QueryError` with `line`, `column`, `message` and `hint`.
        """
        given = self._client._do(protocol.register_query(text, name, options, replace=replace))
        return Query(self._client, given)

    def validate(self, text: str, **options: Unpack[QueryKeywords]) -> Validation:
        """Check a query without starting it: its dialect, variables, warnings and plan. Raises `QueryError`.

        >>> lamps = client.streams.create("http://example.org/lamps")
        >>> text = '''PREFIX : <http://example.org/>
        ...     SELECT * FROM NAMED WINDOW :w ON :lamps [RANGE 10s] WHERE { WINDOW :w { ?lamp :is ?state } }'''
        >>> validation = client.queries.validate(text)
        >>> validation.dialect, sorted(validation.variables)
        ('RSP-QL', ['lamp', 'state'])
        """
        return self._client._do(protocol.validate_query(text, options))

    def list(self) -> list[QueryInfo]:
        """List all queries."""
        return self._client._do(protocol.list_queries())

    def get(self, name: str) -> QueryInfo:
        """Describe a query: text, status, watermark, last result."""
        return self._client._do(protocol.get_query(name))

    def explain(self, name: str) -> Plan:
        """Show how a query is evaluated, with live counters."""
        return self._client._do(protocol.explain_query(name))

    def why(self, name: str) -> Why:
        """Explain why a query has no solutions now, or say that it has some."""
        return self._client._do(protocol.why_query(name))

    def pause(self, name: str) -> None:
        """Stop a query and keep its text."""
        self._client._do(protocol.act_on_query(name, "pause"))

    def restart(self, name: str) -> None:
        """Restart a query with empty windows; its results count from 1 again."""
        self._client._do(protocol.act_on_query(name, "restart"))

    def delete(self, name: str) -> None:
        """Stop and delete a query."""
        self._client._do(protocol.delete_query(name))


class Query(NotebookQuery):
    """One query."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = protocol.query_name(name)

    def __repr__(self) -> str:
        """Its name."""
        return f"{type(self).__name__}({self.name!r})"

    @overload
    def subscribe(
        self, from_: str = "latest", *, on_gap: RaiseGap = "raise", **options: Unpack[SubscribeKeywords]
    ) -> Subscription[Result]: ...

    @overload
    def subscribe(
        self, from_: str = "latest", *, on_gap: Literal["yield"], **options: Unpack[SubscribeKeywords]
    ) -> Subscription[Result | Gap]: ...

    def subscribe(
        self, from_: str = "latest", *, on_gap: OnGap = "raise", **options: Unpack[SubscribeKeywords]
    ) -> Subscription[Result | Gap]:
        """Follow its results: see `Client.subscribe`."""
        return self._client.subscribe(self.name, from_, on_gap=on_gap, **options)

    def answer(self, *, raw: bool = False) -> Answer:
        """Return the full current result, as of the last evaluation."""
        return self._client._do(protocol.read_answer(self.name, raw=raw))

    def poll(
        self,
        after: str | None = None,
        *,
        from_: Literal["earliest", "latest"] = "earliest",
        wait_s: float = 0.0,
        limit: int | None = None,
        raw: bool = False,
    ) -> tuple[list[Result], str]:
        """Fetch results after a token, by plain HTTP; returns up to a megabyte of them and the token for the next call.

        Without a token, `from_` says where to start: at the oldest result that the server has, or with new ones. If
        the token is too old, this raises `ExpiredError`, whose `earliest` is the oldest token that works.
        """
        return self._client._do(protocol.poll_results(self.name, after, from_, wait_s, limit, raw=raw))

    def info(self) -> QueryInfo:
        """Describe it."""
        return self._client.queries.get(self.name)

    def explain(self) -> Plan:
        """Show how it is evaluated, with live counters."""
        return self._client.queries.explain(self.name)

    def why(self) -> Why:
        """Explain why it has no solutions now, or say that it has some."""
        return self._client.queries.why(self.name)

    def pause(self) -> None:
        """Stop it and keep its text."""
        self._client.queries.pause(self.name)

    def restart(self) -> None:
        """Restart it with empty windows."""
        self._client.queries.restart(self.name)

    def delete(self) -> None:
        """Stop and delete it."""
        self._client.queries.delete(self.name)
