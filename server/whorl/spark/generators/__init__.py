"""Data where there is none: rows made up on the spot, the same in every run.

One file per producer says what its rows look like; `draw` has the numbers that look random, `generator` the frame.
"""

from __future__ import annotations

from whorl.spark.generators.draw import Draw
from whorl.spark.generators.generator import Generator

__all__ = ["Draw", "Generator"]
