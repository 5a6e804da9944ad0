"""`python -m whorl.server`: the server with the settings of the environment (`WHORL_*`) and of WHORL_CONFIG."""

from __future__ import annotations

import sys

from whorl.server.config import ConfigError, load_settings
from whorl.server.serve import StartError, serve
from whorl.server.settings import SettingNameError


def main() -> int:
    """Run the server; return 2 if a setting is wrong or the server cannot start."""
    try:
        serve(load_settings({}))
    except (ConfigError, SettingNameError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except StartError as error:
        sys.stderr.write(f"whorl cannot start: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
