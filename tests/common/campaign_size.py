"""The size of a long campaign: its full size, or the share in WHORL_CAMPAIGN_SHARE."""

from __future__ import annotations

import os


def sized(full: int) -> int:
    """The share of the full number, at least one."""
    return max(1, round(full * float(os.environ.get("WHORL_CAMPAIGN_SHARE", "1"))))
