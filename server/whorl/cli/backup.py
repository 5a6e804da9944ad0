"""`whorl backup`: a copy of everything that a server stores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.faults import CommandError

File = Annotated[Path, typer.Argument(metavar="FILE.tar", help="The backup file; it must not exist yet.")]
DataDir = Annotated[
    Path, typer.Option("--data-dir", envvar="WHORL_DATA_DIR", metavar="DIR", help="The data directory of the server.")
]


def command(file: File, data_dir: DataDir = Path("whorl-data")) -> None:
    """Back up the data directory of a stopped server.

    To back up a running server, use GET /backup with an admin token. A backup never contains the admin token.

    Examples:
      whorl backup monday.tar
      whorl backup /backups/monday.tar --data-dir /var/lib/whorl

    """
    from whorl.server.store.backup import back_up
    from whorl.server.store.store import StoreError

    try:
        back_up(data_dir, file)
    except (StoreError, OSError) as error:
        hint = "to back up a running server: curl -H 'Authorization: Bearer …' URL/backup -o FILE.tar"
        raise CommandError(str(error), hint=hint) from None
    typer.echo(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
