"""One frozen `Settings`, read once: from `WHORL_*` variables, or from options of `whorl serve` of the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIB = 1024 * 1024


def _listed(given: Any) -> Any:  # noqa: ANN401 - what the environment or a caller has, before it is checked
    """A list in a variable: words with commas between them, or JSON."""
    if not isinstance(given, str):
        return given
    if given.lstrip().startswith("["):
        try:
            return orjson.loads(given)
        except orjson.JSONDecodeError as error:
            raise ValueError("is no list: write words with commas between them") from error
    return tuple(word.strip() for word in given.split(",") if word.strip())


# Not decoded by the settings library, which would take JSON alone.
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class Settings(BaseSettings):
    """What an operator can choose. Every limit is here, and every default is safe."""

    model_config = SettingsConfigDict(env_prefix="WHORL_", frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="address to listen on; others than loopback need TLS or behind_proxy")
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    data_dir: Path = Field(Path("whorl-data"), description="directory of the store and of the token file")
    token: SecretStr | None = Field(None, description="the admin token; without it one is made at first start")
    token_file: Path | None = Field(
        None, description="file of the admin token, such as a mounted secret; it must exist"
    )
    anonymous: bool = Field(default=False, description="no tokens at all; only on a loopback address")
    allowed_hosts: Words = Field((), description="further names in Host, beside the loopback ones")
    allowed_origins: Words = Field((), description="further origins, beside the server's own")
    tls_cert: Path | None = Field(None, description="certificate file (PEM)")
    tls_key: Path | None = Field(None, description="private key file (PEM)")
    behind_proxy: bool = Field(default=False, description="a proxy in front of the server does TLS")
    log_format: Literal["human", "json"] = "human"

    ack: Literal["synced", "memory"] = Field("synced", description="what a 2xx of an ingest promises by default")
    accept_loss: bool = Field(
        default=False, description="start although the store has less than was acknowledged; for one start"
    )
    snapshot_log_bytes: int = Field(64 * MIB, gt=0, description="log size at which a snapshot replaces it")
    stage_expiry_s: int = Field(3600, gt=0, description="how long staged bodies wait for their commit")
    stage_bytes_max: int = Field(512 * MIB, gt=0, description="bytes that may wait for commits")
    max_ahead_s: int = Field(300, ge=0, description="events further ahead of the clock are set aside")
    tick_ms: int = Field(200, ge=10, description="how often streams in arrival time are told the time")

    body_bytes_max: int = Field(8 * MIB, gt=0)
    message_bytes_max: int = Field(1 * MIB, gt=0)
    query_bytes_max: int = Field(64 * 1024, gt=0)
    body_seconds_max: int = Field(30, gt=0, description="a request body must be complete by then, unless it streams")
    queue_bytes_max: int = Field(64 * MIB, gt=0, description="bytes of commands that may wait for the engine")
    queue_commands_max: int = Field(10_000, gt=0)
    ring_bytes_max: int = Field(8 * MIB, gt=0, description="results of one query kept for its subscribers")
    rings_bytes_max: int = Field(1024 * MIB, gt=0, description="results kept for all subscribers; queries share it")
    ring_behind_s: float = Field(10.0, gt=0, description="a subscriber this far behind is let go")
    streams_max: int = Field(1_000, gt=0)
    queries_max: int = Field(1_000, gt=0)
    graphs_bytes_max: int = Field(64 * MIB, gt=0, description="size of one static graph document")
    connections_max: int = Field(1_000, gt=0)
    subscribers_max: int = Field(1_000, gt=0)
    subscriptions_per_socket_max: int = Field(100, gt=0)
    init_timeout_s: float = Field(10.0, gt=0)
    heartbeat_s: float = Field(20.0, gt=0)
    registrations_per_minute: int = Field(600, gt=0)

    work_max: int = Field(10_000_000, gt=0, description="work units of one evaluation of a query")
    result_rows_max: int = Field(100_000, gt=0, description="rows of one report")
    state_rows_max: int = Field(10_000_000, gt=0, description="mappings, rows and groups one query may keep")
    window_width_s_max: int = Field(86_400, gt=0, description="width of a window by time")
    windows_max: int = Field(16, gt=0, description="windows of one query")
    allow_cartesian: bool = Field(default=False, description="accept products of parts that share nothing")
