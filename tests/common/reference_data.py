"""The location of public data and queries: `$WHORL_TEST_DATA`, or the folder `shared` beside the checkout.

Both have the folders `data` and `queries`; `$WHORL_TEST_DATA` may also name the folder `data` itself.
"""

from __future__ import annotations

import os
from pathlib import Path

_BESIDE_THE_CHECKOUT = Path(__file__).resolve().parents[3] / "shared"


def reference_path(*parts: str) -> Path | None:
    """A file or folder such as `("queries", "csrbench", …)` or `("data", "w3c", …)`; None when it is not there."""
    root = Path(os.environ.get("WHORL_TEST_DATA", _BESIDE_THE_CHECKOUT))
    candidates = [root.joinpath(*parts), root.parent.joinpath(*parts)]
    if parts[0] == "data":
        candidates.append(root.joinpath(*parts[1:]))
    return next((path for path in candidates if path.exists()), None)
