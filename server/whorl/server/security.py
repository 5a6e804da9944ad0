"""Authorisation: tokens with scopes, and one-use tickets for browsers.

The admin token comes from the settings or from a file. A file named in the settings must exist; `data_dir/token` is
created at the first start (mode 0600). Further tokens are stored as hashes in `data_dir/tokens.json`; their text is
shown once, to the caller who creates them. A token has 256 random bits, so that its plain hash cannot be searched;
comparisons take constant time.

WebSocket and EventSource in a browser cannot send headers: they carry a ticket (`?ticket=`) that is valid for one use
within thirty seconds. No token is ever part of a URL that a server sees.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from whorl.server import errors
from whorl.server.store.files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from whorl.server.settings import Settings

Scope = Literal["ingest", "subscribe", "register", "admin"]
SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
TICKET_SECONDS = 30
TICKETS_MAX = 10_000
# The limit per token, so that one token cannot use up the tickets of all others.
TICKETS_PER_TOKEN_MAX = 100
TOKENS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller: the id of a token and its scopes."""

    id: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Whether this caller has the scope; admins have all."""
        return scope in self.scopes or "admin" in self.scopes


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A stored token: everything but its text."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: int
    sha256: str


@dataclass(slots=True)
class _Ticket:
    principal: Principal
    expires_at: float


ADMIN = Principal("admin", SCOPES)
ANONYMOUS = Principal("anonymous", SCOPES)
# The caller of a connection that has not authenticated yet.
NOBODY = Principal("", frozenset())


@dataclass(slots=True)
class Tokens:
    """All tokens and tickets of one server; used on the event loop only."""

    data_dir: Path
    admin_digest: str
    anonymous: bool = False
    made_admin_token: str | None = None
    records: dict[str, TokenRecord] = field(default_factory=dict)
    tickets: dict[str, _Ticket] = field(default_factory=dict)
    # Callbacks that end connections, by the id of their token.
    _connections: dict[str, set[Callable[[], None]]] = field(default_factory=dict)

    @classmethod
    def open(cls, settings: Settings) -> Tokens:
        """Read the token files of the data directory, or create them."""
        check_exposure(settings)
        make_private_directory(settings.data_dir)
        admin, made = _admin_token(settings)
        tokens = cls(settings.data_dir, _digest(admin), settings.anonymous, admin if made else None)
        tokens.records = _read_records(tokens._path)
        return tokens

    def authenticate(self, token: str) -> Principal:
        """The caller with this token."""
        digest = _digest(token)
        if hmac.compare_digest(digest, self.admin_digest):
            return ADMIN
        # Every record is compared, so that the time taken reveals nothing.
        found = [record for record in self.records.values() if hmac.compare_digest(digest, record.sha256)]
        if not found:
            raise unauthenticated("the token is unknown")
        return Principal(found[0].id, frozenset(found[0].scopes))

    def create(self, name: str, scopes: Iterable[Scope]) -> tuple[TokenRecord, str]:
        """A new token: its record, and its text, which is not kept."""
        if len(self.records) >= TOKENS_MAX:
            raise errors.TooManyTokensError(f"the limit of {TOKENS_MAX} tokens is reached", hint="delete unused ones")
        token = new_token()
        ordered = tuple(sorted(set(scopes)))
        record = TokenRecord(secrets.token_hex(8), name, ordered, int(time.time() * 1000), _digest(token))
        self._save({**self.records, record.id: record})
        return record, token

    def delete(self, token_id: str) -> None:
        """Delete a token and its tickets, and end its connections."""
        if token_id not in self.records:
            raise errors.UnknownTokenError(f"there is no token with the id '{token_id}'")
        self._save({key: record for key, record in self.records.items() if key != token_id})
        self.tickets = {key: ticket for key, ticket in self.tickets.items() if ticket.principal.id != token_id}
        for end in tuple(self._connections.get(token_id, ())):
            end()

    def check(self, principal: Principal) -> None:
        """Refuse a caller whose token has been deleted since it authenticated."""
        if principal.id not in self.records and principal not in {ADMIN, ANONYMOUS}:
            raise unauthenticated("the token has been deleted")

    @contextlib.contextmanager
    def held(self, principal: Principal, end: Callable[[], None]) -> Iterator[None]:
        """For the life of a connection: call `end` if the caller's token is deleted."""
        self.check(principal)
        held = self._connections.setdefault(principal.id, set())
        held.add(end)
        try:
            yield
        finally:
            held.discard(end)
            if not held:
                self._connections.pop(principal.id, None)

    def issue_ticket(self, principal: Principal) -> str:
        """A ticket that authenticates the caller once, for a short time."""
        now = time.monotonic()
        self.tickets = {key: ticket for key, ticket in self.tickets.items() if ticket.expires_at > now}
        own = sum(ticket.principal.id == principal.id for ticket in self.tickets.values())
        if own >= TICKETS_PER_TOKEN_MAX or len(self.tickets) >= TICKETS_MAX:
            raise errors.TooManyTicketsError("there are too many unused tickets", retry_after_s=TICKET_SECONDS)
        ticket = secrets.token_urlsafe(24)
        self.tickets[_digest(ticket)] = _Ticket(principal, now + TICKET_SECONDS)
        return ticket

    def redeem(self, ticket: str) -> Principal:
        """The caller with this ticket, which is used up."""
        found = self.tickets.pop(_digest(ticket), None)
        if found is None or found.expires_at <= time.monotonic():
            raise unauthenticated(
                "the ticket has been used, has expired or is unknown", hint="request a new one: POST /tickets"
            )
        return found.principal

    @property
    def _path(self) -> Path:
        return self.data_dir / "tokens.json"

    def _save(self, records: dict[str, TokenRecord]) -> None:
        rows = [
            {"id": r.id, "name": r.name, "scopes": list(r.scopes), "createdAt": r.created_at, "sha256": r.sha256}
            for r in records.values()
        ]
        _write_private(self._path, json.dumps({"version": 1, "tokens": rows}, indent=1))
        self.records = records


def authorize_token(tokens: Tokens, token: str | None, *scopes: Scope) -> Principal:
    """The caller with this token, who must have one of the scopes."""
    if tokens.anonymous:
        return ANONYMOUS
    if token is None:
        raise unauthenticated("authentication is required")
    return require(tokens.authenticate(token), *scopes)


def require(principal: Principal, *scopes: Scope) -> Principal:
    """The caller, if it has one of the scopes."""
    if scopes and not any(principal.may(scope) for scope in scopes):
        hint = "use a token with this scope; an admin creates one with POST /tokens"
        named = " or ".join(f"'{scope}'" for scope in scopes)
        raise errors.ForbiddenError(f"this request requires the scope {named}", hint=hint, scopes=list(scopes))
    return principal


def unauthenticated(detail: str, hint: str | None = None) -> errors.UnauthenticatedError:
    """The refusal of an unauthenticated caller."""
    return errors.UnauthenticatedError(detail, hint=hint or "send 'Authorization: Bearer <token>'")


def new_token() -> str:
    """256 random bits, safe in headers and URLs."""
    return secrets.token_urlsafe(32)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address to listen on."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(settings: Settings) -> None:
    """Refuse to start if tokens would cross a network in plain text, or if none were required."""
    if settings.token is not None and settings.token_file is not None:
        raise ValueError("token and token_file exclude each other: set one of them")
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise ValueError("tls_cert and tls_key belong together: set both or none")
    if settings.tls_cert is not None and settings.tls_key is not None:
        check_certificate(settings.tls_cert, settings.tls_key)
    if is_loopback(settings.host):
        return
    if settings.anonymous:
        raise ValueError(f"anonymous access is only for a loopback address, not for {settings.host}")
    if settings.tls_cert is None and not settings.behind_proxy:
        raise ValueError(
            f"{settings.host} is not a loopback address: set tls_cert and tls_key, "
            "or behind_proxy when a proxy in front of the server terminates TLS"
        )


def check_certificate(cert: Path, key: Path) -> None:
    """Refuse files that TLS cannot use, in one sentence."""
    for setting, path in (("tls_cert", cert), ("tls_key", key)):
        try:
            path.open("rb").close()
        except OSError as error:
            raise ValueError(f"{setting} names {path}, which cannot be read: {error.strerror}") from None
    try:
        # A key with a password would block the start at a prompt.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: b"")
    except ssl.SSLError as error:
        reason = (error.reason or "unreadable").lower().replace("_", " ")
        detail = f"{cert} and {key} are not a certificate and its private key, both PEM and without a password"
        raise ValueError(f"{detail}: {reason}") from None


def token_path(settings: Settings) -> Path:
    """The file of the admin token."""
    return settings.token_file or settings.data_dir / "token"


def _admin_token(settings: Settings) -> tuple[str, bool]:
    """The admin token, and whether it is new."""
    if settings.token is not None:
        return settings.token.get_secret_value(), False
    path = token_path(settings)
    if path.exists():
        token = path.read_text("utf-8").strip()
        if not token:
            raise ValueError(f"the token file {path} is empty: remove it to have a new token created at the next start")
        return token, False
    if settings.token_file is not None:
        raise ValueError(f"the token file {path} is missing: create it, or unset token_file to have a token created")
    token = new_token()
    _write_private(path, token + "\n")
    return token, True


def _read_records(path: Path) -> dict[str, TokenRecord]:
    if not path.exists():
        return {}
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if document["version"] != 1:
            raise ValueError(f"{path} has version {document['version']}; this server reads version 1")
        return {row["id"]: _record(row) for row in document["tokens"]}
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is damaged: restore it, or remove it and create the tokens again") from error


def _record(row: dict[str, Any]) -> TokenRecord:
    scopes = tuple(scope for scope in row["scopes"] if scope in SCOPES)
    return TokenRecord(row["id"], row["name"], scopes, row["createdAt"], row["sha256"])


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, completely or not at all."""
    beside = path.with_name(path.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
