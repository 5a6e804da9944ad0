"""`whorl backup`: a copy of everything that a server keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.faults import CommandError

File = Annotated[Path, typer.Argument(metavar="FILE.tar", help="The backup; it must not be there yet.")]
DataDir = Annotated[
    Path, typer.Option("--data-dir", envvar="WHORL_DATA_DIR", metavar="DIR", help="What the server keeps its data in.")
]


def command(file: File, data_dir: DataDir = Path("whorl-data")) -> None:
    """Back up the data directory of a server that is stopped.

    One that runs is asked: GET /backup, with an admin token. The admin token itself is in no backup.

    Examples:
      whorl backup monday.tar
      whorl backup /backups/monday.tar --data-dir /var/lib/whorl

    """
    from whorl.server.store.backup import back_up
    from whorl.server.store.store import StoreError

    try:
        back_up(data_dir, file)
    except (StoreError, OSError) as error:
        hint = "a server that runs is asked for a backup: curl -H 'Authorization: Bearer …' URL/backup -o FILE.tar"
        raise CommandError(str(error), hint=hint) from None
    typer.echo(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
