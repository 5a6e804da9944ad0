"""`whorl token`: prints the admin token of the server on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from whorl.cli.faults import CommandError
from whorl.cli.options import DEFAULT_URL, Url
from whorl.cli.remote import token_file

Link = Annotated[bool, typer.Option("--link", help="The address of the console, with the token in its fragment.")]


def command(link: Link = False, url: Url = DEFAULT_URL) -> None:
    """Print the admin token of the server on this machine.

    It is read from the file that WHORL_TOKEN_FILE names, or from `token` in the data directory (WHORL_DATA_DIR); both
    may stand in the file that WHORL_CONFIG names.

    Examples:
      whorl token
      whorl token --link
      whorl token | xargs printf 'Authorization: Bearer %s' > auth.header

    """
    path = token_file()
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        hint = "set WHORL_DATA_DIR to the data directory of the server; the server creates the token at its first start"
        raise CommandError(f"cannot read the token in {path}: {error.strerror}", hint=hint) from None
    typer.echo(f"{url.rstrip('/')}/#token={text}" if link else text)
