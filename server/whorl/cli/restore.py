"""`whorl restore`: a data directory from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.faults import CommandError

File = Annotated[Path, typer.Argument(metavar="FILE.tar", help="The backup.")]
DataDir = Annotated[
    Path, typer.Option("--data-dir", metavar="DIR", help="The directory to create; it must not contain a store.")
]


def command(file: File, data_dir: DataDir = Path("whorl-data")) -> None:
    """Restore a backup to a new data directory, and check all of it.

    A server started on it continues from the moment of the backup. It creates a new admin token, unless one is set.

    Examples:
      whorl restore monday.tar --data-dir /var/lib/whorl

    """
    from whorl.server.store.backup import restore
    from whorl.server.store.store import StoreError

    try:
        records = restore(file, data_dir)
    except (StoreError, OSError) as error:
        raise CommandError(str(error)) from None
    typer.echo(
        f"{data_dir}: restored; {records} records after the snapshot. Start it with: whorl serve --data-dir {data_dir}"
    )
