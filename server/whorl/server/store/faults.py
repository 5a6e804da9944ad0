"""What can be wrong with a store. Every message names the file and says what to do."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot be used; the message names the file and says why."""


class LossError(StoreError):
    """The store holds less than was acknowledged. It opens only when the operator accepts the loss."""


class NotWrittenError(StoreError):
    """A write failed and was undone: what was to be written is not in the store, now or after a restart."""


class OutcomeUnknownError(StoreError):
    """A write failed, and so did undoing it: only the next start can tell what the disk has kept."""
