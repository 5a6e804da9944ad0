"""One frozen `Settings`, read once; `config.py` combines its sources."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

if TYPE_CHECKING:
    from collections.abc import Mapping

MIB = 1024 * 1024


def _listed(given: Any) -> Any:  # noqa: ANN401 - an unchecked value from the environment or a caller
    """A list in an environment variable: comma-separated words, or JSON."""
    if not isinstance(given, str):
        return given
    if given.lstrip().startswith("["):
        try:
            return orjson.loads(given)
        except orjson.JSONDecodeError as error:
            raise ValueError("is not a list: write comma-separated words") from error
    return tuple(word.strip() for word in given.split(",") if word.strip())


# Not decoded by the settings library, which would accept only JSON.
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class Settings(BaseSettings):
    """The operator's choices. Every limit is here, and every default is safe."""

    model_config = SettingsConfigDict(env_prefix="WHORL_", frozen=True, extra="forbid")

    host: str = Field(
        "127.0.0.1", description="address to listen on; addresses other than loopback need TLS or behind_proxy"
    )
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 picks a free one")
    data_dir: Path = Field(Path("whorl-data"), description="directory for the store and the token file")
    token: SecretStr | None = Field(None, description="the admin token; if unset, one is created at the first start")
    token_file: Path | None = Field(
        None, description="file with the admin token, such as a mounted secret; it must exist"
    )
    anonymous: bool = Field(default=False, description="require no tokens; only on a loopback address")
    allowed_hosts: Words = Field((), description="additional names accepted in Host, beside the loopback names")
    allowed_origins: Words = Field((), description="additional origins whose web pages may call the server")
    tls_cert: Path | None = Field(None, description="certificate file (PEM)")
    tls_key: Path | None = Field(None, description="private key file (PEM)")
    behind_proxy: bool = Field(default=False, description="a proxy in front of the server terminates TLS")
    log_format: Literal["human", "json"] = Field(
        "human", description="format of the log; json has a line for each request"
    )

    ack: Literal["synced", "memory"] = Field(
        "synced", description="what a 2xx response to a push guarantees by default"
    )
    accept_loss: bool = Field(
        default=False, description="start even if acknowledged data is missing from the store; for one start"
    )
    snapshot_log_bytes: int = Field(64 * MIB, gt=0, description="log size at which a snapshot replaces it")
    snapshot_replay_s: float = Field(
        2.0, gt=0, description="processor time of a replay at which a snapshot replaces the log"
    )
    stage_expiry_s: int = Field(3600, gt=0, description="how long staged bodies are kept for their commit")
    stage_bytes_max: int = Field(512 * MIB, gt=0, description="total size of staged bodies")
    max_ahead_s: int = Field(300, ge=0, description="events further ahead of the clock are set aside")
    tick_ms: int = Field(200, ge=10, description="interval at which the clock advances streams in arrival time")

    body_bytes_max: int = Field(
        8 * MIB, gt=0, description="size of a decompressed request body; for streamed NDJSON, of one line"
    )
    message_bytes_max: int = Field(1 * MIB, gt=0, description="size of a WebSocket message")
    query_bytes_max: int = Field(64 * 1024, gt=0, description="length of the text of a query")
    bodies_bytes_max: int = Field(
        256 * MIB, gt=0, description="large request bodies being received or processed; further ones get 429"
    )
    body_seconds_max: int = Field(30, gt=0, description="time limit for a request body, unless it streams")
    answer_seconds_max: float = Field(
        30.0, gt=0, description="a client that reads nothing of a response for this long is disconnected"
    )
    answers_bytes_max: int = Field(
        256 * MIB,
        gt=0,
        description="total size of responses not yet read; beyond it, the slowest clients are disconnected",
    )
    queue_bytes_max: int = Field(64 * MIB, gt=0, description="size of the command queue; further commands get 429")
    queue_commands_max: int = Field(
        10_000, gt=0, description="number of commands in the queue; further commands get 429"
    )
    ring_bytes_max: int = Field(8 * MIB, gt=0, description="results kept for the subscribers of one query")
    rings_bytes_max: int = Field(
        1024 * MIB, gt=0, description="results kept for all subscribers; shared by all queries"
    )
    ring_behind_s: float = Field(10.0, gt=0, description="a subscriber this far behind is disconnected")
    streams_max: int = Field(1_000, gt=0, description="number of streams")
    queries_max: int = Field(1_000, gt=0, description="number of queries")
    graphs_bytes_max: int = Field(64 * MIB, gt=0, description="size of a document for a static graph")
    connections_max: int = Field(1_000, gt=0, description="busy connections; further requests get 503")
    subscribers_max: int = Field(1_000, gt=0, description="connected readers: sockets, event streams, polls")
    subscriptions_per_socket_max: int = Field(100, gt=0, description="subscriptions on one socket")
    init_timeout_s: float = Field(10.0, gt=0, description="time limit for connection_init on a WebSocket")
    heartbeat_s: float = Field(20.0, gt=0, description="interval between pings on a silent connection")
    question_seconds_max: int = Field(30, gt=0, description="time limit of an ad-hoc query")
    registrations_per_minute: int = Field(600, gt=0, description="registrations and validations per minute and token")

    work_max: int = Field(10_000_000, gt=0, description="work units of one evaluation of a query")
    result_rows_max: int = Field(100_000, gt=0, description="rows of one report")
    state_rows_max: int = Field(10_000_000, gt=0, description="mappings, rows and groups in the state of one query")
    window_width_s_max: int = Field(86_400, gt=0, description="width of a time window")
    windows_max: int = Field(16, gt=0, description="windows of one query")
    allow_cartesian: bool = Field(default=False, description="accept cross products of parts that share no variable")


class SettingNameError(ValueError):
    """An environment variable looks like a setting, but is not one."""


def check_names(environment: Mapping[str, str]) -> None:
    """Refuse a mistyped setting, which would have no effect."""
    for name in unknown_names(environment):
        near = difflib.get_close_matches(name.upper(), _known_names(), 1, 0.85)
        if near:
            raise SettingNameError(f"there is no setting {name}; did you mean {near[0]}?")


def unknown_names(environment: Mapping[str, str]) -> list[str]:
    """The variables with our prefix that are not settings; they may belong to other tools, so they are not refused."""
    known = _known_names()
    return [name for name in sorted(environment) if name.upper().startswith("WHORL_") and name.upper() not in known]


def _known_names() -> set[str]:
    return {f"WHORL_{name.upper()}" for name in Settings.model_fields} | {"WHORL_URL", "WHORL_CONFIG"}
