"""Every public call of `whorl_client` once, for type checkers: they find no `Any` in an expression of this file.

Nothing here runs; `make lint` checks it with mypy, and `make types` with pyright in its strict mode. What a program has
to narrow, it narrows here; `test_types.py` says that no call is missing. The functions for `AsyncClient` are those for
`Client` with `await` before them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from ssl import create_default_context
from typing import assert_type

import pandas as pd
import polars as pl
import pyoxigraph
import rdflib
from whorl_client import (
    Ack,
    Answer,
    AsyncClient,
    AsyncPublisher,
    AsyncQuery,
    AsyncStream,
    AsyncSubscription,
    Binding,
    BlankNode,
    Client,
    Event,
    ExpiredError,
    Gap,
    GapError,
    Iri,
    Json,
    JsonObject,
    LangString,
    Literal,
    MadeToken,
    Plan,
    ProblemError,
    Progress,
    Publisher,
    Query,
    QueryError,
    QueryInfo,
    QueryWarning,
    Result,
    Row,
    Statement,
    Stream,
    StreamInfo,
    Subscription,
    Term,
    TokenInfo,
    Triple,
    Validation,
    Why,
    Window,
)


def show(*values: object) -> None:
    """Use values."""
    del values


AT = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "SELECT ?room ?t …"


# --- values -----------------------------------------------------------------------------------------------------------


def use_answer(answer: Answer) -> None:
    assert_type(answer.rows, list[Row])
    assert_type(answer.inserted, list[Row])
    assert_type(answer.deleted, list[Row])
    assert_type(answer.triples(gone=True), list[Statement])
    assert_type(answer.bindings(), list[Binding])
    assert_type(answer.variables, tuple[str, ...])
    assert_type(answer.boolean, bool | None)
    assert_type(answer.text, str)
    assert_type(answer.has_changes, bool)
    assert_type(answer.meta, dict[str, int])
    assert_type(answer.to_pandas(meta=True), pd.DataFrame)
    assert_type(answer.to_polars(), pl.DataFrame)
    table: object = answer.to_arrow()
    show(table)
    kind: str = answer.kind
    show(kind, len(answer), bool(answer), [row["room"] for row in answer])


def use_row(row: Row) -> None:
    assert_type(row["room"], Term)
    assert_type(row.get("room"), Term | None)
    assert_type(row.value("t", float), float)
    assert_type(row.value("room", Iri), Iri)
    value = row["t"]
    if isinstance(value, int):
        show(value + 1)


def use_statement(statement: Statement) -> None:
    show(
        statement.subject,
        statement.predicate,
        statement.object,
        statement.graph if not isinstance(statement, Triple) else None,
    )


def use_term(term: Term, event: Event) -> None:
    if isinstance(term, Literal):
        show(term.value, term.datatype)
    elif isinstance(term, LangString):
        show(term.value, term.language)
    elif isinstance(term, (Iri, BlankNode)):
        show(term.upper())
    assert_type(event.t, int | datetime | None)
    assert_type(event.data, object)


def use_libraries(answer: Answer) -> None:
    graph = answer.to_rdflib()
    if isinstance(graph, rdflib.Graph):
        show(len(graph))
    else:
        show([row["room"].n3() for row in graph])
    for found in answer.to_pyoxigraph():
        show(found.subject if isinstance(found, pyoxigraph.Quad) else found["room"])


def use_result(result: Result) -> None:
    use_answer(result)
    assert_type(result.seq, int)
    assert_type(result.t, int)
    assert_type(result.time, datetime)
    assert_type(result.windows, tuple[Window, ...])
    assert_type(result.windows[0].close_time, datetime | None)
    assert_type(result.windows[0].open_time, datetime | None)
    show(result.windows[0].name, result.windows[0].open, result.windows[0].close)
    assert_type(result.envelope, JsonObject)
    if result.skipped is not None:
        show(result.skipped.start, result.skipped.end, result.skipped.windows)
    show(result.query, result.incarnation, result.token, result.r2s, result.is_snapshot)


def use_why(why: Why) -> None:
    assert_type(why.document, JsonObject)
    show(why.state, why.summary, why.advice)


def use_infos(stream: StreamInfo, query: QueryInfo, validation: Validation, plan: Plan, ack: Ack) -> None:
    assert_type(stream.document, JsonObject)
    assert_type(stream.document["events"], Json)
    assert_type(stream.settings, JsonObject)
    show(stream.iri, stream.status, stream.watermark, stream.queries, stream.mapping, stream.time_column)
    assert_type(query.streams, tuple[str, ...])
    show(query.name, query.text, query.dialect, query.status, query.watermark, query.last_seq, query.variables)
    assert_type(validation.warnings, tuple[QueryWarning, ...])
    assert_type(query.warnings, tuple[QueryWarning, ...])
    show(*((one.message, one.code, one.line, one.column, one.hint) for one in query.warnings))
    show(validation.dialect, validation.variables, str(validation.plan), validation.document, plan.document)
    assert_type(ack.refused, tuple[JsonObject, ...])
    show(ack.accepted, ack.late, ack.duplicates, ack.ahead, ack.offset, ack.watermark, ack.batch, ack.warning)


def use_gap(gap: Gap | GapError, progress: Progress) -> None:
    show(gap.from_seq, gap.to_seq, gap.reason, gap.token)
    assert_type(progress.time, datetime | None)
    show(progress.watermark, progress.seq)


def use_errors(client: Client) -> None:
    try:
        client.register(TEXT)
    except QueryError as error:
        assert_type(error.line, int | None)
        show(error.column, error.message, error.hint, error.snippet, error.index)
    except ExpiredError as error:
        show(error.earliest, error.from_seq)
    except ProblemError as error:
        assert_type(error.document, JsonObject)
        show(error.slug, error.status, error.retry_after_s)


# --- the client that waits --------------------------------------------------------------------------------------------


def use_client() -> None:
    with Client("http://localhost:8080", "token", timeout_s=5, patience_s=1, ssl=create_default_context()) as client:
        assert_type(client.status(), JsonObject)
        assert_type(client.metrics(), str)
        assert_type(client.stream("http://example.org/s"), Stream)
        assert_type(client.query("hot"), Query)
        assert_type(client.register(TEXT, "hot", dialect="rspql", t0=AT), Query)
        assert_type(client.publisher("http://example.org/s", "p", epoch=1, batch_events=9, batch_bytes=99), Publisher)
        assert_type(client.sparql(TEXT, raw=False), Answer)
        assert_type(client.subscribe("hot", "earliest", limit=1, until=AT), Subscription[Result])
        assert_type(client.subscribe("hot", on_gap=show), Subscription[Result])
        assert_type(client.subscribe(client.query("hot"), on_gap="yield"), Subscription[Result | Gap])
        assert_type(client.follow("SELECT …", {"semantics": "bag"}, limit=1), Subscription[Result])
        assert_type(client.follow("SELECT …", on_gap="yield"), Subscription[Result | Gap])
        client.update("CLEAR ALL")
        show(client.url)
        client.close()


def use_streams(client: Client) -> None:
    assert_type(client.streams.create("http://example.org/s", lateness="5s", time="event"), Stream)
    assert_type(client.streams.list(), list[StreamInfo])
    assert_type(client.streams.get("http://example.org/s"), StreamInfo)
    client.streams.delete("http://example.org/s", cascade=True)


def use_stream(stream: Stream) -> None:
    assert_type(stream.send("<urn:a> <urn:p> 1 .", t=AT, format="turtle", atomic=True, producer="p;1;0"), Ack)
    assert_type(stream.send([Event((Triple(Iri("urn:a"), Iri("urn:p"), 1),), 1000)]), Ack)
    assert_type(stream.info(), StreamInfo)
    assert_type(stream.watermark(1000), int | None)
    assert_type(stream.stage("<urn:a> <urn:p> 1 ."), str)
    assert_type(stream.commit("job", 1, ["token"], watermark=AT), Ack)
    assert_type(stream.close(), int | None)
    stream.reopen()
    stream.mapping("CONSTRUCT { } WHERE { }", time_column="t")
    stream.delete(cascade=True)
    show(stream.iri)


def use_publisher(publisher: Publisher) -> None:
    with publisher:
        publisher.send("<urn:a> <urn:p> 1 .", t=1000)
        publisher.watermark(1000)
        assert_type(publisher.flush(), Ack)
    assert_type(publisher.place, tuple[int, int])
    assert_type(publisher.total, Ack)
    assert_type(publisher.waiting, int)


def use_queries(client: Client) -> None:
    assert_type(client.queries.register(TEXT, "hot", report=["close"], keep_answer=True), Query)
    assert_type(client.queries.validate(TEXT, semantics="bag"), Validation)
    assert_type(client.queries.list(), list[QueryInfo])
    assert_type(client.queries.get("hot"), QueryInfo)
    assert_type(client.queries.explain("hot"), Plan)
    assert_type(client.queries.why("hot"), Why)
    client.queries.pause("hot")
    client.queries.restart("hot")
    client.queries.delete("hot")


def use_query(query: Query) -> None:
    assert_type(query.subscribe("earliest", snapshot=True, timeout_s=5), Subscription[Result])
    assert_type(query.subscribe(on_gap="yield", credit=9, overflow="latest"), Subscription[Result | Gap])
    assert_type(query.answer(raw=False), Answer)
    assert_type(query.poll("token", from_="latest", wait_s=1, limit=1, raw=False), tuple[list[Result], str])
    assert_type(query.info(), QueryInfo)
    assert_type(query.explain(), Plan)
    assert_type(query.why(), Why)
    query.pause()
    query.restart()
    query.delete()
    show(query.name)


def use_graphs(client: Client) -> None:
    assert_type(client.graphs.get("http://example.org/g", format="turtle"), str)
    client.graphs.put("<urn:a> <urn:p> 1 .")
    client.graphs.post([(Iri("urn:a"), Iri("urn:p"), 1)], "http://example.org/g", format=None)
    client.graphs.delete()


def use_tokens(client: Client) -> None:
    assert_type(client.tokens.list(), list[TokenInfo])
    made = client.tokens.create("gateway", ["ingest"])
    assert_type(made, MadeToken)
    show(made.id, made.name, made.scopes, made.created_at, made.text)
    client.tokens.revoke(made.id)


def use_subscription(subscription: Subscription, with_gaps: Subscription[Result | Gap]) -> None:
    with subscription as results:
        for result in results:
            assert_type(result, Result)
    assert_type(next(with_gaps), Result | Gap)
    assert_type(subscription.token, str | None)
    assert_type(subscription.variables, tuple[str, ...])
    assert_type(subscription.watermark, int | None)
    assert_type(subscription.reason, str | None)
    subscription.start()
    subscription.show()
    subscription.close()


# --- the client for asyncio -------------------------------------------------------------------------------------------


async def use_async_client() -> None:
    async with AsyncClient("http://localhost:8080", "token", timeout_s=5, patience_s=1) as client:
        assert_type(await client.status(), JsonObject)
        assert_type(await client.metrics(), str)
        assert_type(client.stream("http://example.org/s"), AsyncStream)
        assert_type(client.query("hot"), AsyncQuery)
        assert_type(await client.register(TEXT, "hot", dialect="rspql", t0=AT), AsyncQuery)
        assert_type(client.publisher("http://example.org/s", "p"), AsyncPublisher)
        assert_type(await client.sparql(TEXT), Answer)
        assert_type(client.subscribe("hot", "earliest", limit=1, until=AT), AsyncSubscription[Result])
        assert_type(client.subscribe(client.query("hot"), on_gap="yield"), AsyncSubscription[Result | Gap])
        assert_type(client.follow("SELECT …"), AsyncSubscription[Result])
        await client.update("CLEAR ALL")
        show(client.url)
        await client.close()


async def use_async_streams(client: AsyncClient) -> None:
    assert_type(await client.streams.create("http://example.org/s", lateness="5s", time="event"), AsyncStream)
    assert_type(await client.streams.list(), list[StreamInfo])
    assert_type(await client.streams.get("http://example.org/s"), StreamInfo)
    await client.streams.delete("http://example.org/s", cascade=True)


async def use_async_stream(stream: AsyncStream) -> None:
    assert_type(await stream.send("<urn:a> <urn:p> 1 .", t=AT), Ack)
    assert_type(await stream.info(), StreamInfo)
    assert_type(await stream.watermark(1000), int | None)
    assert_type(await stream.stage("<urn:a> <urn:p> 1 ."), str)
    assert_type(await stream.commit("job", 1, ["token"], watermark=AT), Ack)
    assert_type(await stream.close(), int | None)
    await stream.reopen()
    await stream.mapping("CONSTRUCT { } WHERE { }", time_column="t")
    await stream.delete(cascade=True)
    show(stream.iri)


async def use_async_publisher(publisher: AsyncPublisher) -> None:
    async with publisher:
        await publisher.send("<urn:a> <urn:p> 1 .", t=1000)
        await publisher.watermark(1000)
        assert_type(await publisher.flush(), Ack)
    show(publisher.place, publisher.total, publisher.waiting)


async def use_async_queries(client: AsyncClient) -> None:
    assert_type(await client.queries.register(TEXT, "hot", report=["close"]), AsyncQuery)
    assert_type(await client.queries.validate(TEXT, semantics="bag"), Validation)
    assert_type(await client.queries.list(), list[QueryInfo])
    assert_type(await client.queries.get("hot"), QueryInfo)
    assert_type(await client.queries.explain("hot"), Plan)
    assert_type(await client.queries.why("hot"), Why)
    await client.queries.pause("hot")
    await client.queries.restart("hot")
    await client.queries.delete("hot")


async def use_async_query(query: AsyncQuery) -> None:
    assert_type(query.subscribe("earliest", snapshot=True), AsyncSubscription[Result])
    assert_type(query.subscribe(on_gap="yield"), AsyncSubscription[Result | Gap])
    assert_type(await query.answer(), Answer)
    assert_type(await query.poll("token", from_="latest"), tuple[list[Result], str])
    assert_type(await query.info(), QueryInfo)
    assert_type(await query.explain(), Plan)
    assert_type(await query.why(), Why)
    await query.pause()
    await query.restart()
    await query.delete()
    show(query.name)


async def use_async_graphs(client: AsyncClient) -> None:
    assert_type(await client.graphs.get("http://example.org/g"), str)
    await client.graphs.put("<urn:a> <urn:p> 1 .")
    await client.graphs.post("<urn:a> <urn:p> 1 .", "http://example.org/g")
    await client.graphs.delete()


async def use_async_tokens(client: AsyncClient) -> None:
    assert_type(await client.tokens.list(), list[TokenInfo])
    assert_type(await client.tokens.create("gateway", ["ingest"]), MadeToken)
    await client.tokens.revoke("id")


async def use_async_subscription(subscription: AsyncSubscription, with_gaps: AsyncSubscription[Result | Gap]) -> None:
    async with subscription as results:
        async for result in results:
            assert_type(result, Result)
    async for item in with_gaps:
        assert_type(item, Result | Gap)
    assert_type(await anext(subscription), Result)
    show(subscription.token, subscription.variables, subscription.watermark, subscription.reason, subscription.query)
    await subscription.start()
    await subscription.show()
    await subscription.close()
