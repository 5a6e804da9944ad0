"""How large a long campaign is: its full size, or the share of it that WHORL_CAMPAIGN_SHARE says."""

from __future__ import annotations

import os


def sized(full: int) -> int:
    """So many of what a full campaign does, at least one."""
    return max(1, round(full * float(os.environ.get("WHORL_CAMPAIGN_SHARE", "1"))))
