"""`whorl doctor`: finds what prevents a server from starting or from being used, and writes a bundle for support."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.checks import Check, Subjects, checks, settings_set, versions
from whorl.cli.faults import REFUSED, CommandError
from whorl.cli.listing import AsJson, show_json
from whorl.cli.options import DEFAULT_URL, Token, Url
from whorl.cli.remote import local_token
from whorl.cli.serve import settings_of

if TYPE_CHECKING:
    from whorl_client import Client

Config = Annotated[
    Path | None, typer.Option("--config", envvar="WHORL_CONFIG", metavar="FILE.toml", help="Settings in a file.")
]
Bundle = Annotated[
    Path | None, typer.Option("--bundle", metavar="FILE.tar.gz", help="Write the findings to a file, for support.")
]
_SIGNS = {"ok": "ok", "warning": "warning", "fault": "FAULT"}


def command(
    config: Config = None,
    bundle: Bundle = None,
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
) -> None:
    """Check settings, ports, permissions, disk and versions.

    The command reads the settings that `whorl serve` would use here and, if a server is running at --url, checks it,
    too. The exit code is 1 if something would keep a server from starting. A bundle has the checks, settings and
    versions and, from a running server, its metrics and streams, and the text, plan and state of each query. It has no
    tokens, no events and no results.

    Examples:
      whorl doctor
      whorl doctor --config /etc/whorl/whorl.toml
      whorl doctor --bundle whorl-support.tar.gz

    """
    settings = settings_of({}, config)
    with _answering(url, token) as client:
        subjects = Subjects(settings, config, client, settings_set(settings, config))
        found = list(checks(subjects))
        if bundle is not None:
            _write(bundle, dict(_contents(subjects, found)))
    if as_json:
        show_json([asdict(check) for check in found])
    else:
        _show(found)
    if any(check.state == "fault" for check in found):
        raise typer.Exit(REFUSED)


def _show(found: list[Check]) -> None:
    for check in found:
        typer.echo(f"{_SIGNS[check.state]:<9}{check.name}: {check.says}")
        if check.hint is not None:
            typer.echo(f"         hint: {check.hint}")


@contextmanager
def _answering(url: str, token: str | None) -> Iterator[Client | None]:
    """A client of the server at an address, if a server responds there."""
    import whorl_client as wc

    with wc.Client(url, token or local_token(url), timeout_s=5.0, patience_s=0.0) as client:
        try:
            client.status()
        except wc.ConnectionFailedError:
            answers = False
        except wc.WhorlError:
            # It responds, even if only with a refusal.
            answers = True
        else:
            answers = True
        yield client if answers else None


# ---- the bundle ----


def _contents(subjects: Subjects, found: list[Check]) -> Iterator[tuple[str, str]]:
    yield "checks.json", _json([asdict(check) for check in found])
    yield "settings.json", _json([asdict(one) for one in subjects.settings_set])
    yield "versions.json", _json(versions())
    if subjects.client is not None:
        yield from _of_server(subjects.client)


def _of_server(client: Client) -> Iterator[tuple[str, str]]:
    from whorl_client import WhorlError

    try:
        yield "service.json", _json(client.status())
        yield "metrics.txt", client.metrics()
        yield "streams.json", _json([stream.document for stream in client.streams.list()])
        queries = client.queries.list()
        yield "queries.json", _json([query.document for query in queries])
        for query in queries:
            if query.status == "running":
                yield f"plans/{query.name}.txt", str(client.queries.explain(query.name))
                yield f"why/{query.name}.json", _json(client.queries.why(query.name).document)
    except WhorlError as error:
        yield "refused.txt", f"{error}\n"


def _json(document: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def _write(path: Path, contents: dict[str, str]) -> None:
    try:
        with tarfile.open(path, "x:gz") as bundle:
            for name, text in contents.items():
                member = tarfile.TarInfo(f"whorl-support/{name.replace('//', '/')}")
                member.size, member.mtime, member.mode = len(text.encode()), int(time.time()), 0o600
                bundle.addfile(member, io.BytesIO(text.encode()))
    except FileExistsError:
        raise CommandError(f"{path} is there already", hint="name another file") from None
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    typer.echo(f"wrote {path}: {', '.join(sorted(contents))}", err=True)
