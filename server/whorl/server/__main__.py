"""`python -m whorl.server`: the server with the settings of the environment (`WHORL_*`)."""

from __future__ import annotations

import sys

from pydantic import ValidationError

from whorl.server.serve import StartError, serve
from whorl.server.settings import Settings


def main() -> int:
    """Serve; 2 when the settings are wrong or the server cannot start."""
    try:
        serve(Settings())
    except ValidationError as error:
        for fault in error.errors():
            sys.stderr.write(f"setting {'.'.join(map(str, fault['loc']))}: {fault['msg']}\n")
        return 2
    except StartError as error:
        sys.stderr.write(f"whorl cannot start: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
