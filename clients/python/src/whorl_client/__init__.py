"""Client of a Whorl server: continuous SPARQL over RDF streams.

    from whorl_client import Client

    with Client("http://localhost:8080") as client:
        query = client.register(text, name="hot")
        for result in query.subscribe(limit=10):
            print(result.time, result.rows)

`Client` blocks, `AsyncClient` is for asyncio; both have the same methods.
"""

from importlib.metadata import version as _version

from ._async_client import (
    AsyncClient,
    AsyncPublisher,
    AsyncQueries,
    AsyncQuery,
    AsyncStream,
    AsyncStreams,
)
from ._async_resources import AsyncGraphs, AsyncTokens
from ._async_subscription import AsyncSubscription
from ._client import Client, Publisher, Queries, Query, Stream, Streams
from ._exceptions import (
    AnswerTimeoutError,
    AuthenticationError,
    CertificateError,
    ConflictError,
    ConnectionFailedError,
    ExpiredError,
    ForbiddenError,
    GapError,
    IngestError,
    NotFoundError,
    OverloadedError,
    ProblemError,
    ProducerError,
    ProtocolError,
    QueryError,
    QueryFailedError,
    QuerySyntaxError,
    RdfSyntaxError,
    StreamExistsError,
    TimestampError,
    UnknownGraphError,
    UnknownQueryError,
    UnknownStreamError,
    UnsupportedQueryError,
    UpdateError,
    WhorlError,
)
from ._json import Json, JsonObject
from ._models import (
    Ack,
    Answer,
    Event,
    Gap,
    MadeToken,
    Plan,
    Progress,
    QueryInfo,
    QueryWarning,
    Result,
    Row,
    Skipped,
    StreamInfo,
    TokenInfo,
    Validation,
    Why,
    Window,
)
from ._payload import Format
from ._sync_resources import Graphs, Tokens
from ._sync_subscription import Subscription
from ._terms import Binding, BlankNode, Iri, LangString, Literal, Quad, Statement, Term, Triple

__version__ = _version("whorl-client")

__all__ = [
    "Ack",
    "Answer",
    "AnswerTimeoutError",
    "AsyncClient",
    "AsyncGraphs",
    "AsyncPublisher",
    "AsyncQueries",
    "AsyncQuery",
    "AsyncStream",
    "AsyncStreams",
    "AsyncSubscription",
    "AsyncTokens",
    "AuthenticationError",
    "Binding",
    "BlankNode",
    "CertificateError",
    "Client",
    "ConflictError",
    "ConnectionFailedError",
    "Event",
    "ExpiredError",
    "ForbiddenError",
    "Format",
    "Gap",
    "GapError",
    "Graphs",
    "IngestError",
    "Iri",
    "Json",
    "JsonObject",
    "LangString",
    "Literal",
    "MadeToken",
    "NotFoundError",
    "OverloadedError",
    "Plan",
    "ProblemError",
    "ProducerError",
    "Progress",
    "ProtocolError",
    "Publisher",
    "Quad",
    "Queries",
    "Query",
    "QueryError",
    "QueryFailedError",
    "QueryInfo",
    "QuerySyntaxError",
    "QueryWarning",
    "RdfSyntaxError",
    "Result",
    "Row",
    "Skipped",
    "Statement",
    "Stream",
    "StreamExistsError",
    "StreamInfo",
    "Streams",
    "Subscription",
    "Term",
    "TimestampError",
    "TokenInfo",
    "Tokens",
    "Triple",
    "UnknownGraphError",
    "UnknownQueryError",
    "UnknownStreamError",
    "UnsupportedQueryError",
    "UpdateError",
    "Validation",
    "WhorlError",
    "Why",
    "Window",
    "__version__",
]
