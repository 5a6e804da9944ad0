"""Files of events, cut into pieces that can be sent.

`files.py` opens a file by its name and picks a reader; the readers give `Piece`s in the order of the file; `batches.py`
puts them together again as large as the speed of a replay allows.
"""

from whorl.cli.events.batches import Batch, batches, paced
from whorl.cli.events.files import Reading, read_pieces
from whorl.cli.events.pauses import with_pauses
from whorl.cli.events.piece import Cut, Piece

__all__ = ["Batch", "Cut", "Piece", "Reading", "batches", "paced", "read_pieces", "with_pauses"]
