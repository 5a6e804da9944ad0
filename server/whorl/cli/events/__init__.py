"""Event files, cut into pieces to send.

`files.py` opens a file and picks a reader by its name; the readers yield `Piece`s in file order; `batches.py` joins
them into batches as large as the speed of the replay allows.
"""

from whorl.cli.events.archives import expanded
from whorl.cli.events.batches import Batch, batches, event_fault, paced
from whorl.cli.events.files import Reading, pieces_in_order, read_pieces
from whorl.cli.events.pauses import with_pauses
from whorl.cli.events.piece import Cut, Piece
from whorl.cli.events.stamps import Stamps, seconds_warning

__all__ = [
    "Batch",
    "Cut",
    "Piece",
    "Reading",
    "Stamps",
    "batches",
    "event_fault",
    "expanded",
    "paced",
    "pieces_in_order",
    "read_pieces",
    "seconds_warning",
    "with_pauses",
]
