"""Generated data: rows computed on the fly, the same in every run.

One file per producer defines its columns; `draw` provides pseudo-random numbers, `generator` everything they share.
"""

from __future__ import annotations

from whorl.spark.generators.draw import Draw
from whorl.spark.generators.generator import NO_CHANGES, Changes, Generator

__all__ = ["NO_CHANGES", "Changes", "Draw", "Generator"]
